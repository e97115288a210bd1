//! Graphs on positions and their strongly connected components, without recursion: programs can have a million
//! equations.

/// A graph on the positions `0..len`, whose edges are grouped by their start.
#[derive(Clone, Debug)]
pub struct Graph<E> {
    starts: Vec<usize>,
    edges: Vec<E>,
}

impl<E> Graph<E> {
    /// The graph with these edges; each edge is given with its start. Edges with the same start keep their order.
    pub fn new(len: usize, list: Vec<(usize, E)>) -> Graph<E> {
        let mut starts = vec![0; len + 1];
        for (from, _) in &list {
            starts[from + 1] += 1;
        }
        for i in 0..len {
            starts[i + 1] += starts[i];
        }
        let mut list: Vec<(usize, usize, E)> =
            list.into_iter().enumerate().map(|(i, (from, e))| (from, i, e)).collect();
        list.sort_unstable_by_key(|(from, i, _)| (*from, *i));
        Graph { starts, edges: list.into_iter().map(|(_, _, e)| e).collect() }
    }

    /// The number of positions.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether the graph has no positions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The edges that start at a position.
    pub fn of(&self, from: usize) -> &[E] {
        &self.edges[self.starts[from]..self.starts[from + 1]]
    }
}

/// The strongly connected components. Each comes after all components that can be reached from it.
#[derive(Clone, Debug)]
pub struct Components {
    /// The component of each position.
    pub of: Vec<usize>,
    /// The members of each component, in order.
    pub members: Vec<Vec<usize>>,
}

/// Tarjan's algorithm over `len` positions. `next(v, i)` returns the target of edge `i` of `v`: `None` after the last
/// edge, and `Some(None)` for an edge that is to be ignored.
pub fn components(len: usize, mut next: impl FnMut(usize, usize) -> Option<Option<usize>>) -> Components {
    const NEW: usize = usize::MAX;
    let mut index = vec![NEW; len];
    let mut low = vec![0; len];
    let mut of = vec![NEW; len];
    let mut members: Vec<Vec<usize>> = Vec::new();
    let (mut stack, mut path): (Vec<usize>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
    let mut count = 0;
    for root in 0..len {
        if index[root] != NEW {
            continue;
        }
        path.push((root, 0));
        while let Some((v, i)) = path.last_mut() {
            let v = *v;
            if *i == 0 && index[v] == NEW {
                index[v] = count;
                low[v] = count;
                count += 1;
                stack.push(v);
            }
            let edge = next(v, *i);
            *i += 1;
            match edge {
                Some(Some(w)) if index[w] == NEW => path.push((w, 0)),
                Some(Some(w)) if of[w] == NEW => low[v] = low[v].min(index[w]),
                Some(_) => {}
                None => {
                    path.pop();
                    if let Some((u, _)) = path.last() {
                        low[*u] = low[*u].min(low[v]);
                    }
                    if low[v] == index[v] {
                        members.push(close(v, members.len(), &mut stack, &mut of));
                    }
                }
            }
        }
    }
    Components { of, members }
}

fn close(root: usize, id: usize, stack: &mut Vec<usize>, of: &mut [usize]) -> Vec<usize> {
    let mut members = Vec::new();
    while let Some(v) = stack.pop() {
        of[v] = id;
        members.push(v);
        if v == root {
            break;
        }
    }
    members.sort_unstable();
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(len: usize, edges: &[(usize, usize)]) -> Components {
        let graph = Graph::new(len, edges.to_vec());
        components(len, |v, i| graph.of(v).get(i).copied().map(Some))
    }

    #[test]
    fn what_is_led_to_comes_first() {
        let c = of(5, &[(0, 1), (1, 2), (2, 1), (2, 3), (4, 4)]);
        assert_eq!(c.members, [vec![3], vec![1, 2], vec![0], vec![4]]);
        assert_eq!(c.of, [2, 1, 1, 0, 3]);
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let n = 300_000;
        let edges: Vec<(usize, usize)> = (0..n).map(|i| (i, (i + 1) % n)).collect();
        assert_eq!(of(n, &edges).members.len(), 1);
    }
}
