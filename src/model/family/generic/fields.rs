use std::cell::RefCell;

use crate::model::config::{Config, Error, Limit};

/// A configuration whose fields go by any of their usual names, and what was assumed while reading it.
pub(super) struct Fields<'c, 'a> {
    pub(super) config: &'c Config<'a>,
    assumed: RefCell<Vec<String>>,
}

impl<'c, 'a> Fields<'c, 'a> {
    pub(super) fn new(config: &'c Config<'a>) -> Self {
        Self {
            config,
            assumed: RefCell::default(),
        }
    }

    /// Keeps a sentence for the reader of a report, once.
    pub(super) fn assume(&self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        let mut assumed = self.assumed.borrow_mut();
        if !assumed.contains(&sentence) {
            assumed.push(sentence);
        }
    }

    /// What was assumed, in order.
    pub(super) fn assumed(self) -> Vec<String> {
        self.assumed.into_inner()
    }

    /// The first of several spellings that holds a number above zero; of a list, its largest.
    pub(super) fn number(&self, names: &[&str], limit: Limit) -> Result<Option<u64>, Error> {
        for name in names {
            let numbers = self.config.one_or_several(name, limit)?;
            if let Some(most) = numbers.into_iter().max().filter(|most| *most > 0) {
                return Ok(Some(most));
            }
        }
        Ok(None)
    }

    /// The first of several spellings that is there, zero included, one per layer.
    pub(super) fn per_layer(
        &self,
        names: &[&str],
        limit: Limit,
        depth: usize,
    ) -> Result<Option<Vec<u64>>, Error> {
        for name in names {
            let numbers = self.config.one_or_several(name, limit)?;
            match numbers.as_slice() {
                [] => {}
                [one] => return Ok(Some(vec![*one; depth])),
                several => {
                    let cut = several.get(..depth).ok_or_else(|| {
                        let count = several.len();
                        let reason = format!("has {count} entries for {depth} layers");
                        self.config.inconsistent(name, reason)
                    })?;
                    return Ok(Some(cut.to_vec()));
                }
            }
        }
        Ok(None)
    }

    /// The first of several switches that is there.
    pub(super) fn flag(&self, names: &[&str]) -> Result<Option<bool>, Error> {
        for name in names {
            if self.config.get(name).is_some() {
                return self.config.flag(name, false).map(Some);
            }
        }
        Ok(None)
    }
}
