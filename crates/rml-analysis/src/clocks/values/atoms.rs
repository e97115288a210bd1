//! The numbers of atoms.

use indexmap::IndexMap;
use rml_base::IndexVec;
use rml_ir::flat::Var;

use super::key::Key;

/// The keys of atoms. If only one variable has an atom, the atom is kept when the key of the variable changes, as for
/// labels. Then functions of the atom remain the same, and nothing changes for readers of the variable.
pub(super) struct Atoms {
    numbers: IndexMap<Key, usize>,
    keys: Vec<Key>,
    /// The number of variables that have each atom by their own key; `of` is the atom of each variable.
    owners: Vec<usize>,
    of: IndexVec<Var, Option<usize>>,
}

impl Atoms {
    /// No atoms yet, for a program with `variables` variables.
    pub(super) fn new(variables: usize) -> Self {
        let of = IndexVec::filled(None, variables);
        Self { numbers: IndexMap::new(), keys: Vec::new(), owners: Vec::new(), of }
    }

    /// The number of the atom for a key. `v` is the variable whose own key it is, if any.
    pub(super) fn number(&mut self, v: Option<Var>, key: Key) -> usize {
        if let Some(old) = v.and_then(|v| self.of[v]) {
            let before = self.keys[old];
            if before == key {
                return old;
            }
            let is_own = self.owners[old] == 1 && before.is_opaque();
            if is_own {
                self.numbers.swap_remove(&before);
                if key.is_opaque() && !self.numbers.contains_key(&key) {
                    self.numbers.insert(key, old);
                    self.keys[old] = key;
                    return old;
                }
            }
            self.owners[old] -= 1;
        }
        let number = *self.numbers.entry(key).or_insert(self.keys.len());
        if number == self.keys.len() {
            self.keys.push(key);
            self.owners.push(0);
        }
        if let Some(v) = v {
            self.owners[number] += 1;
            self.of[v] = Some(number);
        }
        number
    }
}
