//! Disjoint sets of numbers.

/// Disjoint sets of the numbers `0..len`. The smallest number of a set represents it, so the result does not depend on
/// the order in which sets are joined.
///
/// ```
/// # use rml_base::Sets;
/// let mut sets = Sets::new(4);
/// sets.join(3, 2);
/// sets.join(2, 1);
/// assert_eq!([0, 1, 2, 3].map(|i| sets.root(i)), [0, 1, 1, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct Sets {
    parents: Vec<usize>,
}

impl Sets {
    /// The sets that contain one number each.
    pub fn new(len: usize) -> Self {
        Self { parents: (0..len).collect() }
    }

    /// The smallest number in the set that contains `i`.
    pub fn root(&self, mut i: usize) -> usize {
        while self.parents[i] != i {
            i = self.parents[i];
        }
        i
    }

    /// Joins the sets of two numbers.
    pub fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.shortened(a), self.shortened(b));
        self.parents[a.max(b)] = a.min(b);
    }

    /// Makes each number point to its root directly.
    pub fn flatten(&mut self) {
        for i in 0..self.parents.len() {
            self.parents[i] = self.parents[self.parents[i]];
        }
    }

    /// The root of a number; shortens the path to it.
    fn shortened(&mut self, mut i: usize) -> usize {
        while self.parents[i] != i {
            self.parents[i] = self.parents[self.parents[i]];
            i = self.parents[i];
        }
        i
    }
}
