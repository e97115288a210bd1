//! Reduced ordered binary decision diagrams with hash-consing: two functions are equal if and only if their nodes are
//! equal. Variables are numbered in the order of their first use. Nothing depends on the order of hashing, so the same
//! program gives the same nodes.

use indexmap::IndexMap;

/// A function; [`FALSE`] and [`TRUE`] are the constants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Node(u32);

/// The function that is always false.
pub(super) const FALSE: Node = Node(0);
/// The function that is always true.
pub(super) const TRUE: Node = Node(1);

/// A variable of the diagrams.
pub(super) type Atom = u32;

/// The position of terminals in the order: after all variables.
const TERMINAL: Atom = Atom::MAX;

/// The maximum depth of nesting of variables in a function.
const DEPTH: usize = 1000;

/// A store of diagrams with limited size.
#[derive(Debug)]
pub(super) struct Bdd {
    nodes: Vec<(Atom, Node, Node)>,
    unique: IndexMap<(Atom, Node, Node), Node>,
    memo: IndexMap<(Node, Node, Node), Node>,
    limit: usize,
}

impl Bdd {
    /// An empty store for at most `limit` nodes.
    pub(super) fn new(limit: usize) -> Bdd {
        let terminals = vec![(TERMINAL, FALSE, FALSE), (TERMINAL, TRUE, TRUE)];
        Bdd { nodes: terminals, unique: IndexMap::new(), memo: IndexMap::new(), limit }
    }

    fn make(&mut self, atom: Atom, low: Node, high: Node) -> Option<Node> {
        if low == high {
            return Some(low);
        }
        if let Some(known) = self.unique.get(&(atom, low, high)) {
            return Some(*known);
        }
        if self.nodes.len() >= self.limit {
            return None;
        }
        let node = Node(u32::try_from(self.nodes.len()).ok()?);
        self.nodes.push((atom, low, high));
        self.unique.insert((atom, low, high), node);
        Some(node)
    }

    /// The function of a single variable. There are few variables, so they do not count against the limit.
    pub(super) fn atom(&mut self, atom: Atom) -> Node {
        if let Some(known) = self.unique.get(&(atom, FALSE, TRUE)) {
            return *known;
        }
        let node = Node(u32::try_from(self.nodes.len()).expect("fewer nodes than 2^32"));
        self.nodes.push((atom, FALSE, TRUE));
        self.unique.insert((atom, FALSE, TRUE), node);
        self.limit += 1;
        node
    }

    /// `if c then t else e`; `None` if the limit is exceeded.
    pub(super) fn ite(&mut self, c: Node, t: Node, e: Node) -> Option<Node> {
        self.ite_within(c, t, e, DEPTH)
    }

    fn ite_within(&mut self, c: Node, t: Node, e: Node, depth: usize) -> Option<Node> {
        let depth = depth.checked_sub(1)?;
        match (c, t, e) {
            (TRUE, _, _) => return Some(t),
            (FALSE, _, _) => return Some(e),
            (_, TRUE, FALSE) => return Some(c),
            _ if t == e => return Some(t),
            _ => {}
        }
        if let Some(known) = self.memo.get(&(c, t, e)) {
            return Some(*known);
        }
        let top = [c, t, e].map(|n| self.nodes[n.0 as usize].0).into_iter().min()?;
        let half = |bdd: &Bdd, n: Node, high: bool| match bdd.nodes[n.0 as usize] {
            (atom, l, h) if atom == top => {
                if high {
                    h
                } else {
                    l
                }
            }
            _ => n,
        };
        let [c0, t0, e0] = [c, t, e].map(|n| half(self, n, false));
        let [c1, t1, e1] = [c, t, e].map(|n| half(self, n, true));
        let low = self.ite_within(c0, t0, e0, depth)?;
        let high = self.ite_within(c1, t1, e1, depth)?;
        let node = self.make(top, low, high)?;
        self.memo.insert((c, t, e), node);
        Some(node)
    }

    pub(super) fn not(&mut self, a: Node) -> Option<Node> {
        self.ite(a, FALSE, TRUE)
    }

    pub(super) fn and(&mut self, a: Node, b: Node) -> Option<Node> {
        self.ite(a, b, FALSE)
    }

    pub(super) fn or(&mut self, a: Node, b: Node) -> Option<Node> {
        self.ite(a, TRUE, b)
    }

    pub(super) fn xor(&mut self, a: Node, b: Node) -> Option<Node> {
        let not_b = self.not(b)?;
        self.ite(a, not_b, b)
    }

    /// At most `limit` of the assignments for which a function is true: the values of the variables on a path, in
    /// order.
    pub(super) fn ways(&self, node: Node, limit: usize) -> Vec<Vec<(Atom, bool)>> {
        let mut found = Vec::new();
        let mut stack = vec![(node, Vec::new())];
        while let Some((node, path)) = stack.pop() {
            match node {
                FALSE => {}
                TRUE if found.len() == limit => break,
                TRUE => found.push(path),
                _ => {
                    let (atom, low, high) = self.nodes[node.0 as usize];
                    for (next, value) in [(low, false), (high, true)] {
                        let mut longer = path.clone();
                        longer.push((atom, value));
                        stack.push((next, longer));
                    }
                }
            }
        }
        found
    }

    /// The variables that a function depends on, in order.
    pub(super) fn support(&self, node: Node) -> Vec<Atom> {
        let mut seen = std::collections::BTreeSet::new();
        let mut atoms = std::collections::BTreeSet::new();
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if node == FALSE || node == TRUE || !seen.insert(node) {
                continue;
            }
            let (atom, low, high) = self.nodes[node.0 as usize];
            atoms.insert(atom);
            stack.extend([low, high]);
        }
        atoms.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_functions_are_one_node() {
        let mut bdd = Bdd::new(1000);
        let [a, b, c] = [0, 1, 2].map(|i| bdd.atom(i));
        // a and (b or c) = (a and b) or (a and c), in whatever order they are built.
        let b_or_c = bdd.or(b, c).unwrap();
        let left = bdd.and(a, b_or_c).unwrap();
        let (ab, ac) = (bdd.and(b, a).unwrap(), bdd.and(c, a).unwrap());
        assert_eq!(bdd.or(ac, ab).unwrap(), left);
        assert_ne!(bdd.or(a, b).unwrap(), left);
        let x = bdd.xor(left, left).unwrap();
        assert_eq!(x, FALSE);
    }

    #[test]
    fn every_way_makes_the_function_true() {
        let mut bdd = Bdd::new(1000);
        let [a, b, c] = [0, 1, 2].map(|i| bdd.atom(i));
        let ab = bdd.xor(a, b).unwrap();
        let f = bdd.or(ab, c).unwrap();
        let ways = bdd.ways(f, 100);
        assert!(!ways.is_empty());
        for way in ways {
            let value = |atom| way.iter().find(|(a, _)| *a == atom).map(|(_, v)| *v);
            assert!(value(0) != value(1) || value(2) == Some(true), "{way:?}");
        }
        assert_eq!(bdd.ways(f, 1).len(), 1);
        assert_eq!(bdd.support(f), [0, 1, 2]);
    }

    #[test]
    fn too_large_a_function_is_not_made() {
        let mut bdd = Bdd::new(2);
        let atoms: Vec<Node> = (0..6).map(|i| bdd.atom(i)).collect();
        let parity = atoms.into_iter().try_fold(FALSE, |p, a| bdd.xor(p, a));
        assert_eq!(parity, None);
    }
}
