//! The numbers of atoms.

use indexmap::IndexMap;
use rml_base::IndexVec;
use rml_ir::flat::Var;

use super::key::Key;

/// What each atom stands for. An atom that only one variable has by its key stays when the key becomes another one, as
/// labels do: what was made of it is then no other function, and nothing changes for who reads the variable.
pub(super) struct Atoms {
    numbers: IndexMap<Key, usize>,
    keys: Vec<Key>,
    /// How many variables have an atom by their own key, and which one each variable has.
    owners: Vec<usize>,
    of: IndexVec<Var, Option<usize>>,
}

impl Atoms {
    /// None yet, for a program of that many variables.
    pub(super) fn new(variables: usize) -> Self {
        let of = IndexVec::filled(None, variables);
        Self { numbers: IndexMap::new(), keys: Vec::new(), owners: Vec::new(), of }
    }

    /// The number of a key, which is that of a variable if it has one by itself.
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
