//! Where the boxes and lines of a diagram are: boxes in two columns, and between these a channel in which all lines run.
//!
//! Each box has the channel beside it, so no line crosses a box, and the picture is never wider than [`WIDTH`], however many
//! boxes there are. A line leaves its box for a *lane* of the channel, follows that up or down, and enters the other box. Which
//! box stands in which column, and which line takes which lane, is improved step by step, always in the same order: the same
//! models give the same picture.

/// The greatest width of a picture: that of a page's column, so that its text is shown in its own size.
pub(crate) const WIDTH: i64 = 700;

/// The space around everything.
pub(crate) const MARGIN: i64 = 12;

/// The space between boxes of one column.
const GAP: i64 = 20;

/// The space between a box and the nearest lane: the head of an arrow stands there.
const APPROACH: i64 = 20;

/// The space between lanes.
const LANE: i64 = 9;

/// Maximum number of lanes.
const LANES: usize = 12;

/// The cost in pixels of a line with both ends in one column.
const BENT: i64 = 60;

/// Maximum number of times that all boxes, or all lines, are looked at for a better place.
const ROUNDS: usize = 50;

/// The column of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }
}

/// A box: left upper corner and size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rect {
    pub(crate) x: i64,
    pub(crate) y: i64,
    pub(crate) width: i64,
    pub(crate) height: i64,
}

/// The end of a line: at a box, so far below its upper side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct End {
    pub(crate) at: usize,
    pub(crate) y: i64,
}

/// The columns of boxes, and how wide everything is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Columns {
    pub(crate) sides: Vec<Side>,
    /// The width of the boxes of the left and of the right column.
    pub(crate) left: i64,
    pub(crate) right: i64,
    /// The width of the space between them.
    channel: i64,
    /// How many lanes it has.
    lanes: usize,
}

/// A line through the channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wire {
    pub(crate) from: (i64, i64),
    pub(crate) to: (i64, i64),
    /// Where it runs up or down.
    pub(crate) lane: i64,
}

/// Where everything is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub(crate) boxes: Vec<Rect>,
    pub(crate) wires: Vec<Wire>,
    pub(crate) width: i64,
    pub(crate) height: i64,
}

/// Puts boxes of these heights into columns that are as wide as their boxes want to be, if there is room.
pub(crate) fn columns(sizes: &[(i64, i64)], lines: &[(End, End)]) -> Columns {
    let heights: Vec<i64> = sizes.iter().map(|(_, height)| *height).collect();
    let sides = sides(&heights, lines);
    let widest = |side: Side| {
        let there = sides.iter().zip(sizes).filter(|(own, _)| **own == side);
        there.map(|(_, (width, _))| *width).max().unwrap_or(0)
    };
    let (left, right) = (widest(Side::Left), widest(Side::Right));
    let lanes = lines.len().min(LANES);
    let channel = match lanes {
        0 if right == 0 => 0,
        0 => GAP,
        lanes => 2 * APPROACH + LANE * (lanes as i64 - 1),
    };
    let room = WIDTH - 2 * MARGIN - channel;
    let half = room / 2;
    let (left, right) = match (left <= half, right <= half) {
        _ if left + right <= room => (left, right),
        (true, _) => (left, room - left),
        (_, true) => (room - right, right),
        _ => (half, room - half),
    };
    Columns {
        sides,
        left,
        right,
        channel,
        lanes,
    }
}

/// The column of each box: columns of similar height, and few lines that begin and end in one of them.
fn sides(heights: &[i64], lines: &[(End, End)]) -> Vec<Side> {
    // The first on the left, then each where there is more room.
    let mut sides: Vec<Side> = Vec::with_capacity(heights.len());
    let (mut left, mut right) = (0, 0);
    for height in heights {
        let (side, column) = if left <= right {
            (Side::Left, &mut left)
        } else {
            (Side::Right, &mut right)
        };
        sides.push(side);
        *column += height + GAP;
    }
    for _ in 0..ROUNDS {
        let mut best = cost(heights, &sides, lines);
        let before = best;
        for at in 1..sides.len() {
            sides[at] = sides[at].other();
            let other = cost(heights, &sides, lines);
            if other < best {
                best = other;
            } else {
                sides[at] = sides[at].other();
            }
        }
        if best == before {
            break;
        }
    }
    sides
}

fn cost(heights: &[i64], sides: &[Side], lines: &[(End, End)]) -> i64 {
    let tops = tops(heights, sides);
    let bottom = tops.iter().zip(heights).map(|(top, height)| top + height).max();
    let lines = lines.iter().map(|(from, to)| {
        let (Some(a), Some(b)) = (tops.get(from.at), tops.get(to.at)) else {
            return 0;
        };
        let bent = from.at != to.at && sides[from.at] == sides[to.at];
        ((a + from.y) - (b + to.y)).abs() / 4 + if bent { BENT } else { 0 }
    });
    bottom.unwrap_or(0) + lines.sum::<i64>()
}

/// The upper side of each box.
fn tops(heights: &[i64], sides: &[Side]) -> Vec<i64> {
    let (mut left, mut right) = (MARGIN, MARGIN);
    let mut tops = Vec::with_capacity(heights.len());
    for (height, side) in heights.iter().zip(sides) {
        let y = match side {
            Side::Left => &mut left,
            Side::Right => &mut right,
        };
        tops.push(*y);
        *y += height + GAP;
    }
    tops
}

/// Lays out boxes of these heights in their columns, and the lines between them.
pub(crate) fn layout(columns: &Columns, heights: &[i64], lines: &[(End, End)]) -> Layout {
    let right = MARGIN + columns.left + columns.channel;
    let tops = tops(heights, &columns.sides);
    let boxes: Vec<Rect> = tops
        .iter()
        .zip(heights)
        .zip(&columns.sides)
        .map(|((y, height), side)| {
            let (x, width) = match side {
                Side::Left => (MARGIN, columns.left),
                Side::Right => (right, columns.right),
            };
            let (y, height) = (*y, *height);
            Rect { x, y, width, height }
        })
        .collect();
    let bottom = boxes.iter().map(|rect| rect.y + rect.height).max();
    let ends: Vec<(LineEnd, LineEnd)> = lines
        .iter()
        .map(|(from, to)| (line_end(columns, &tops, *from), line_end(columns, &tops, *to)))
        .collect();
    let lanes = lanes(&ends, columns.lanes);
    let first = MARGIN + columns.left + APPROACH;
    let x = |side: Side| match side {
        Side::Left => MARGIN + columns.left,
        Side::Right => right,
    };
    Layout {
        wires: ends
            .iter()
            .zip(lanes)
            .map(|((from, to), lane)| Wire {
                from: (x(from.side), from.y),
                to: (x(to.side), to.y),
                lane: first + lane as i64 * LANE,
            })
            .collect(),
        boxes,
        width: right + columns.right + MARGIN,
        height: bottom.unwrap_or(MARGIN) + MARGIN,
    }
}

/// Where a line ends: on which side of the channel, and how far below.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LineEnd {
    side: Side,
    y: i64,
}

fn line_end(columns: &Columns, tops: &[i64], end: End) -> LineEnd {
    LineEnd {
        side: columns.sides.get(end.at).copied().unwrap_or(Side::Left),
        y: tops.get(end.at).copied().unwrap_or(MARGIN) + end.y,
    }
}

/// The lane of each line: few lines cross, and none lies on another.
fn lanes(ends: &[(LineEnd, LineEnd)], lanes: usize) -> Vec<usize> {
    // From left to right, each in a lane of its own while there are some.
    let mut chosen: Vec<usize> = (0..ends.len()).map(|at| at % lanes.max(1)).collect();
    for _ in 0..ROUNDS {
        let mut better = false;
        for at in 0..ends.len() {
            let cost = |lane: usize, chosen: &[usize]| -> i64 {
                let others = ends.iter().zip(chosen).enumerate();
                let others = others.filter(|(other, _)| *other != at);
                others
                    .map(|(_, (other, chosen))| meeting((&ends[at], lane), (other, *chosen)))
                    .sum()
            };
            let mut best = cost(chosen[at], &chosen);
            for lane in 0..lanes {
                let other = cost(lane, &chosen);
                if other < best {
                    (best, chosen[at], better) = (other, lane, true);
                }
            }
            // Two lines may be better off in each other's lanes.
            for other in 0..ends.len() {
                let swapped = |chosen: &[usize]| -> i64 {
                    let pairs = (0..ends.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
                    pairs
                        .filter(|(a, b)| [*a, *b].iter().any(|end| *end == at || *end == other))
                        .map(|(a, b)| meeting((&ends[a], chosen[a]), (&ends[b], chosen[b])))
                        .sum()
                };
                let before = swapped(&chosen);
                chosen.swap(at, other);
                if swapped(&chosen) < before {
                    better = true;
                } else {
                    chosen.swap(at, other);
                }
            }
        }
        if !better {
            break;
        }
    }
    chosen
}

/// How badly two lines meet: they cross, or one lies on the other.
fn meeting(a: (&(LineEnd, LineEnd), usize), b: (&(LineEnd, LineEnd), usize)) -> i64 {
    const ON_EACH_OTHER: i64 = 100;
    let range = |ends: &(LineEnd, LineEnd)| (ends.0.y.min(ends.1.y), ends.0.y.max(ends.1.y));
    let ((a_top, a_bottom), (b_top, b_bottom)) = (range(a.0), range(b.0));
    let mut cost = 0;
    // Lines with the same end are one line there.
    let share = |x: &LineEnd| [b.0.0, b.0.1].contains(x);
    if a.1 == b.1 && a_top <= b_bottom && b_top <= a_bottom {
        cost += ON_EACH_OTHER;
    }
    let crosses = |end: &LineEnd, lane: usize, other: (i64, i64), at: usize| {
        let within = other.0 < end.y && end.y < other.1;
        within
            && match end.side {
                Side::Left => at < lane,
                Side::Right => at > lane,
            }
    };
    for end in [&a.0.0, &a.0.1] {
        cost += i64::from(crosses(end, a.1, (b_top, b_bottom), b.1));
        for other in [&b.0.0, &b.0.1] {
            let meet = end.side != other.side && end.y == other.y && !share(end);
            let (left, right) = match end.side {
                Side::Left => (a.1, b.1),
                Side::Right => (b.1, a.1),
            };
            if meet && left >= right {
                cost += ON_EACH_OTHER;
            }
        }
    }
    for end in [&b.0.0, &b.0.1] {
        cost += i64::from(crosses(end, b.1, (a_top, a_bottom), a.1));
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn overlap(a: &Rect, b: &Rect) -> bool {
        a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
    }

    fn line(from: usize, to: usize) -> (End, End) {
        (End { at: from, y: 50 }, End { at: to, y: 50 })
    }

    #[test]
    fn nothing_is_a_drawing_too() {
        let columns = columns(&[], &[]);
        let empty = layout(&columns, &[], &[]);
        assert_eq!((empty.boxes.len(), empty.width, empty.height), (0, 24, 24));
    }

    #[test]
    fn two_documents_stand_side_by_side() {
        let lines = [line(0, 1)];
        let columns = columns(&[(200, 100), (250, 300)], &lines);
        assert_eq!(columns.sides, [Side::Left, Side::Right]);
        assert_eq!((columns.left, columns.right), (200, 250));
        let drawn = layout(&columns, &[100, 300], &lines);
        assert_eq!(drawn.width, MARGIN + 200 + 2 * APPROACH + 250 + MARGIN);
        assert_eq!(drawn.height, 300 + 2 * MARGIN);
    }

    #[test]
    fn referenced_documents_stand_in_the_other_column() {
        let columns = columns(&[(200, 100); 3], &[line(0, 1), line(1, 2)]);
        assert_eq!(columns.sides, [Side::Left, Side::Right, Side::Left]);
    }

    #[test]
    fn boxes_that_want_more_room_than_there_is_share_it() {
        let both = columns(&[(900, 10), (800, 10)], &[]);
        assert_eq!(both.left, both.right);
        let one = columns(&[(900, 10), (100, 10)], &[]);
        assert_eq!(
            (one.right, one.left + one.right),
            (100, WIDTH - 2 * MARGIN - one.channel)
        );
    }

    #[test]
    fn lines_that_need_not_cross_do_not() {
        let line_end = |side, y| LineEnd { side, y };
        let (left, right) = (Side::Left, Side::Right);
        let ends = [
            (line_end(left, 10), line_end(right, 60)),
            (line_end(left, 30), line_end(right, 90)),
            (line_end(right, 20), line_end(left, 50)),
        ];
        let chosen = lanes(&ends, 3);
        let met: i64 = (0..3)
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .map(|(a, b)| meeting((&ends[a], chosen[a]), (&ends[b], chosen[b])))
            .sum();
        // The third leads down from the right to the left, over the two that lead down to the right.
        assert!(met <= 3, "{chosen:?}: {met}");
        let [first, second, _] = chosen[..] else {
            panic!("{chosen:?}")
        };
        assert!(first > second, "{chosen:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_box_lies_on_a_box_and_all_lines_are_in_the_channel(
            sizes in prop::collection::vec((40_i64..800, 60_i64..300), 0..9),
            lines in prop::collection::vec((0_usize..9, 0_i64..60, 0_usize..9, 0_i64..60), 0..16),
        ) {
            let lines: Vec<(End, End)> = lines
                .iter()
                .filter(|(from, _, to, _)| *from < sizes.len() && *to < sizes.len())
                .map(|(from, y1, to, y2)| (End { at: *from, y: *y1 }, End { at: *to, y: *y2 }))
                .collect();
            let heights: Vec<i64> = sizes.iter().map(|(_, height)| *height).collect();
            let columns = columns(&sizes, &lines);
            let drawn = layout(&columns, &heights, &lines);
            prop_assert!(drawn.width <= WIDTH);
            prop_assert_eq!(drawn.wires.len(), lines.len());
            for (at, a) in drawn.boxes.iter().enumerate() {
                prop_assert!(a.width >= 200 || a.width >= sizes[at].0);
                prop_assert!(a.x >= MARGIN && a.x + a.width <= drawn.width - MARGIN);
                prop_assert!(a.y >= MARGIN && a.y + a.height <= drawn.height - MARGIN);
                for b in &drawn.boxes[at + 1..] {
                    prop_assert!(!overlap(a, b), "{:?} and {:?}", a, b);
                }
            }
            let (from, to) = (MARGIN + columns.left, MARGIN + columns.left + columns.channel);
            for wire in &drawn.wires {
                prop_assert!(from + APPROACH <= wire.lane && wire.lane <= to - APPROACH, "{:?}", wire);
                for (x, y) in [wire.from, wire.to] {
                    prop_assert!(x == from || x == to, "{:?}", wire);
                    prop_assert!(0 < y && y < drawn.height, "{:?}", wire);
                }
            }
        }
    }
}
