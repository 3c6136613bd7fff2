//! Results kept between projections, so that a changed context does not size every tensor again.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};

/// A bounded cache of derived values by type and key. Emptied when full; transparent to results.
#[derive(Default)]
pub struct Memo {
    entries: Mutex<HashMap<(TypeId, u64), Arc<dyn Any + Send + Sync>>>,
}

/// Entries kept; a sweep of one plan needs far fewer.
const CAPACITY: usize = 512;

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
        let known = self.lock().get(&key).map(Arc::clone);
        if let Some(value) = known.and_then(|value| value.downcast::<V>().ok()) {
            return value;
        }
        // Not under the lock: `compute` may itself ask.
        let value = Arc::new(compute());
        let mut entries = self.lock();
        if entries.len() >= CAPACITY {
            entries.clear();
        }
        entries.insert(key, Arc::clone(&value) as Arc<dyn Any + Send + Sync>);
        value
    }

    fn lock(
        &self,
    ) -> std::sync::MutexGuard<'_, HashMap<(TypeId, u64), Arc<dyn Any + Send + Sync>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
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
}
