//! Results kept between projections, so that a changed context does not size every tensor again.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A bounded cache of derived values by type and key; transparent to results. What was not asked for during the last
/// [`GENERATION`] new values is forgotten.
#[derive(Default)]
pub struct Memo {
    entries: Mutex<Entries>,
}

type Key = (TypeId, u64);
type Value = Arc<dyn Any + Send + Sync>;

/// Values asked for in this generation and in the one before.
#[derive(Default)]
struct Entries {
    young: HashMap<Key, Value>,
    old: HashMap<Key, Value>,
}

/// New values until those of the generation before are forgotten.
const GENERATION: usize = 512;

impl Memo {
    /// The value for `key`, computed where it is not there. `V` and the hash of `key` identify it.
    pub fn get<V: Send + Sync + 'static>(
        &self,
        key: &impl Hash,
        compute: impl FnOnce() -> V,
    ) -> Arc<V> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let key = (TypeId::of::<V>(), hasher.finish());
        let known = self.lock().get(&key);
        if let Some(value) = known.and_then(|value| value.downcast::<V>().ok()) {
            return value;
        }
        // Not under the lock: `compute` may itself ask.
        let value = Arc::new(compute());
        self.lock().insert(key, Arc::clone(&value) as Value);
        value
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn get(&mut self, key: &Key) -> Option<Value> {
        if let Some(value) = self.young.get(key) {
            return Some(Arc::clone(value));
        }
        let value = self.old.remove(key)?;
        self.insert(*key, Arc::clone(&value));
        Some(value)
    }

    fn insert(&mut self, key: Key, value: Value) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_once_per_key() {
        let memo = Memo::default();
        assert_eq!(*memo.get(&1, || 10_u32), 10);
        assert_eq!(*memo.get(&1, || 11_u32), 10);
        assert_eq!(*memo.get(&2, || 12_u32), 12);
        assert_eq!(*memo.get(&1, || 13_u64), 13);
    }

    #[test]
    fn keeps_what_is_asked_for() {
        let memo = Memo::default();
        for key in 0..10 * GENERATION {
            memo.get(&key, || key);
            assert_eq!(*memo.get(&"kept", || key), 0);
        }
        let entries = memo.lock();
        assert!(entries.young.len() + entries.old.len() <= 2 * GENERATION);
        drop(entries);
        assert_eq!(*memo.get(&0_usize, || 7_usize), 7, "forgotten");
    }
}
