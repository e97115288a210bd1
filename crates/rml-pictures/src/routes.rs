//! Where arrows run: only in the gutters between columns and the gaps between rows, so that no line crosses a text.
//!
//! Gutter `g` is left of cycle `g`, gap `r` above row `r`. Every arrow that needs a line of its own there gets a
//! lane; lanes are shared where the extents of two arrows do not meet. This is about order only; `svg` gives the
//! coordinates.

use std::collections::BTreeMap;

use crate::chronogram::{Arrow, CellIndex, Direction};

/// How an arrow runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Route {
    /// Straight through the gap between two neighbouring rows.
    Down,
    /// Through one gutter, in that lane.
    Gutter {
        /// The gutter.
        gutter: usize,
        /// The lane in it.
        lane: usize,
    },
    /// Through a gutter, along a gap, through another gutter; each with its lane.
    Around {
        /// Gutter and lane at the source.
        leave: (usize, usize),
        /// Gap and lane.
        along: (usize, usize),
        /// Gutter and lane at the target.
        arrive: (usize, usize),
    },
}

/// One side of a cell, and the end of an arrow there: the `index`-th of `count` from above.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Port {
    /// From above, from 0.
    pub(crate) index: usize,
    /// How many ends there are on that side.
    pub(crate) count: usize,
}

/// The routes of all arrows.
#[derive(Debug, Default)]
pub(crate) struct Routing {
    /// One route an arrow, with the ports at its source and its target.
    pub(crate) routes: Vec<(Route, Port, Port)>,
    /// How many lanes each gutter has.
    pub(crate) gutters: BTreeMap<usize, usize>,
    /// How many lanes each gap has.
    pub(crate) gaps: BTreeMap<usize, usize>,
}

/// Lanes in use in one gutter or gap: the extents in each.
type Lanes = BTreeMap<usize, Vec<Vec<(usize, usize)>>>;

/// Chooses the routes of `arrows`; short ones get the inner lanes.
pub(crate) fn routing(arrows: &[Arrow]) -> Routing {
    let mut order: Vec<usize> = (0..arrows.len()).collect();
    order.sort_by_key(|&i| extent(arrows[i].from.row, arrows[i].to.row).map_or(0, |(a, b)| b - a));
    let (mut gutters, mut gaps) = (Lanes::new(), Lanes::new());
    let mut routes = vec![Route::Down; arrows.len()];
    for i in order {
        routes[i] = route(arrows[i], &mut gutters, &mut gaps);
    }
    let ports = ports(arrows, &routes);
    let lanes = |lanes: Lanes| lanes.into_iter().map(|(k, l)| (k, l.len())).collect();
    let routes = routes.into_iter().zip(ports).map(|(r, (from, to))| (r, from, to)).collect();
    Routing { routes, gutters: lanes(gutters), gaps: lanes(gaps) }
}

fn route(arrow: Arrow, gutters: &mut Lanes, gaps: &mut Lanes) -> Route {
    let Arrow { from, to } = arrow;
    if from.cycle == to.cycle && from.row.abs_diff(to.row) == 1 {
        return Route::Down;
    }
    let (leave, arrive) = match arrow.direction() {
        Direction::Same | Direction::Forward => {
            (from.cycle + 1, if from.cycle == to.cycle { to.cycle + 1 } else { to.cycle })
        }
        Direction::Backward => (from.cycle, to.cycle + 1),
    };
    if leave == arrive {
        let extent = extent(from.row, to.row).unwrap_or((from.row, from.row));
        return Route::Gutter { gutter: leave, lane: take(gutters, leave, extent) };
    }
    // The gap next to the target, on the side of the source.
    let gap = if from.row > to.row { to.row + 1 } else { to.row };
    let first = extent(from.row, gap).unwrap_or((gap, gap));
    let last = extent(to.row, gap).unwrap_or((gap, gap));
    let along = extent(leave, arrive).unwrap_or((leave, arrive));
    Route::Around {
        leave: (leave, take(gutters, leave, first)),
        along: (gap, take(gaps, gap, along)),
        arrive: (arrive, take(gutters, arrive, last)),
    }
}

fn extent(a: usize, b: usize) -> Option<(usize, usize)> {
    (a != b).then(|| (a.min(b), a.max(b)))
}

/// The first lane that is free over `extent`.
fn take(lanes: &mut Lanes, at: usize, extent: (usize, usize)) -> usize {
    let lanes = lanes.entry(at).or_default();
    let free = |used: &Vec<(usize, usize)>| used.iter().all(|u| u.1 < extent.0 || extent.1 < u.0);
    let lane = lanes.iter().position(free).unwrap_or(lanes.len());
    if lane == lanes.len() {
        lanes.push(Vec::new());
    }
    lanes[lane].push(extent);
    lane
}

/// Spreads the ends of arrows over the sides of their cells: those that come from above stand above.
fn ports(arrows: &[Arrow], routes: &[Route]) -> Vec<(Port, Port)> {
    type Side = (CellIndex, bool);
    let mut ends: BTreeMap<Side, Vec<(i64, usize, bool)>> = BTreeMap::new();
    for (i, (arrow, route)) in arrows.iter().zip(routes).enumerate() {
        let (from_right, to_right) = sides(*arrow, *route);
        let rows = |place: CellIndex| i64::try_from(place.row).unwrap_or(i64::MAX);
        let rise = rows(arrow.to) - rows(arrow.from);
        ends.entry((arrow.from, from_right)).or_default().push((rise, i, true));
        ends.entry((arrow.to, to_right)).or_default().push((-rise, i, false));
    }
    let mut ports = vec![(Port::default(), Port::default()); arrows.len()];
    for (_, mut side) in ends {
        side.sort_unstable();
        let count = side.iter().filter(|(_, i, _)| routes[*i] != Route::Down).count();
        let mut index = 0;
        for (_, i, is_source) in side {
            if routes[i] == Route::Down {
                continue;
            }
            let port = Port { index, count };
            if is_source {
                ports[i].0 = port;
            } else {
                ports[i].1 = port;
            }
            index += 1;
        }
    }
    ports
}

/// Whether the arrow leaves on the right of its source, and whether it arrives on the right of its target.
pub(crate) fn sides(arrow: Arrow, route: Route) -> (bool, bool) {
    match (arrow.direction(), route) {
        (_, Route::Down) | (Direction::Same, _) => (true, true),
        (Direction::Forward, _) => (true, false),
        (Direction::Backward, _) => (false, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrow(from: (usize, usize), to: (usize, usize)) -> Arrow {
        let place = |(row, cycle)| CellIndex { row, cycle };
        Arrow { from: place(from), to: place(to) }
    }

    #[test]
    fn neighbours_are_joined_straight() {
        let routing = routing(&[arrow((0, 2), (1, 2)), arrow((2, 2), (1, 2))]);
        assert!(routing.routes.iter().all(|r| r.0 == Route::Down));
        assert!(routing.gutters.is_empty() && routing.gaps.is_empty());
    }

    #[test]
    fn arrows_that_meet_get_lanes_of_their_own() {
        let routing = routing(&[arrow((0, 1), (2, 1)), arrow((1, 1), (4, 1)), arrow((5, 1), (7, 1))]);
        let lanes: Vec<_> = routing.routes.iter().map(|r| r.0).collect();
        let gutter = |lane| Route::Gutter { gutter: 2, lane };
        assert_eq!(lanes, [gutter(0), gutter(1), gutter(0)]);
        assert_eq!(routing.gutters.get(&2), Some(&2));
    }

    #[test]
    fn a_delay_over_absent_cycles_goes_around_them() {
        let routing = routing(&[arrow((1, 0), (2, 3)), arrow((2, 4), (2, 1))]);
        assert_eq!(routing.routes[0].0, Route::Around { leave: (1, 0), along: (2, 1), arrive: (3, 0) });
        assert_eq!(routing.routes[1].0, Route::Around { leave: (4, 0), along: (2, 0), arrive: (2, 0) });
    }

    #[test]
    fn ends_on_one_side_are_spread_from_above() {
        let routing = routing(&[arrow((4, 1), (2, 1)), arrow((0, 1), (2, 1)), arrow((2, 1), (2, 2))]);
        let at_row_2: Vec<usize> =
            vec![routing.routes[1].2.index, routing.routes[2].1.index, routing.routes[0].2.index];
        assert_eq!(at_row_2, [0, 1, 2]);
        assert!(routing.routes.iter().any(|r| r.2 == Port { index: 0, count: 1 }));
    }
}
