//! Where the boxes of a diagram stand: in columns, so that lines go from left to right where they can.
//!
//! The usual four steps of a layered drawing: turn round the lines that close a circle; put each box in the first column
//! right of all that point to it; order the columns so that neighbours stand near each other; stack each column. A line
//! over several columns gets a narrow place of its own in those between, so it crosses no box.

/// The space between columns, for the lines.
const BETWEEN: i64 = 110;

/// The space between what stands in one column.
const GAP: i64 = 26;

/// The height of the place of a line that passes a column.
const PASS: i64 = 6;

/// The space around everything.
pub(super) const MARGIN: i64 = 20;

/// How often the columns are ordered by their neighbours.
const SWEEPS: usize = 6;

/// A box: left upper corner and size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rect {
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) width: i64,
    pub(super) height: i64,
}

/// A column that a line passes: from left to right, at this height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pass {
    pub(super) left: i64,
    pub(super) right: i64,
    pub(super) y: i64,
}

/// Where everything is.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) boxes: Vec<Rect>,
    /// For each line the columns that it passes, from left to right.
    pub(super) passes: Vec<Vec<Pass>>,
    pub(super) width: i64,
    pub(super) height: i64,
}

/// An item of a column.
#[derive(Clone, Copy)]
struct Item {
    height: i64,
    width: i64,
    y: i64,
}

/// Lays out boxes of these sizes, with lines between them, from one that should stand left to one that should stand right.
pub(super) fn layout(sizes: &[(i64, i64)], lines: &[(usize, usize)]) -> Layout {
    let known = |(from, to): &(usize, usize)| *from < sizes.len() && *to < sizes.len() && from != to;
    let lines: Vec<Option<(usize, usize)>> = lines.iter().map(|line| known(line).then_some(*line)).collect();
    let lines = without_circles(sizes.len(), &lines);
    let column = columns(sizes.len(), &lines);

    // Items: the boxes first, then the places where lines pass.
    let mut items: Vec<Item> = sizes
        .iter()
        .map(|(width, height)| Item {
            height: *height,
            width: *width,
            y: 0,
        })
        .collect();
    let mut in_column: Vec<Vec<usize>> = vec![Vec::new(); column.iter().max().map_or(0, |last| last + 1)];
    for (item, column) in column.iter().enumerate() {
        in_column[*column].push(item);
    }
    let mut places: Vec<Vec<(usize, usize)>> = Vec::with_capacity(lines.len());
    let mut left: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
    let mut right: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
    for line in &lines {
        let mut passed = Vec::new();
        if let Some((from, to)) = *line {
            let mut before = from;
            let between = in_column.iter_mut().enumerate().take(column[to]);
            for (at, items_there) in between.skip(column[from] + 1) {
                let item = items.len();
                items.push(Item {
                    height: PASS,
                    width: 0,
                    y: 0,
                });
                items_there.push(item);
                passed.push((item, at));
                left.push(vec![before]);
                right.push(Vec::new());
                right[before].push(item);
                before = item;
            }
            right[before].push(to);
            left[to].push(before);
        }
        places.push(passed);
    }

    for sweep in 0..SWEEPS {
        match sweep % 2 {
            0 => (1..in_column.len()).for_each(|at| order(&mut in_column, at, at - 1, &left)),
            _ => (1..in_column.len())
                .rev()
                .for_each(|at| order(&mut in_column, at - 1, at, &right)),
        }
    }

    let heights = in_column.iter().map(|column| {
        let heights: i64 = column.iter().map(|item| items[*item].height).sum();
        heights + GAP * (column.len() as i64 - 1).max(0)
    });
    let heights: Vec<i64> = heights.collect();
    let tallest = heights.iter().copied().max().unwrap_or(0);
    let mut layout = Layout {
        boxes: vec![Rect::default(); sizes.len()],
        height: tallest + 2 * MARGIN,
        ..Layout::default()
    };
    let mut x = MARGIN;
    let mut extents = Vec::new();
    for (column, height) in in_column.iter().zip(heights) {
        let width = column.iter().map(|item| items[*item].width).max().unwrap_or(0);
        let mut y = MARGIN + (tallest - height) / 2;
        for item in column {
            items[*item].y = y;
            if let Some(rect) = layout.boxes.get_mut(*item) {
                // All as wide as the widest, so that a line that leaves one crosses no other.
                let height = items[*item].height;
                *rect = Rect { x, y, width, height };
            }
            y += items[*item].height + GAP;
        }
        extents.push((x, x + width));
        x += width + BETWEEN;
    }
    layout.width = (x - BETWEEN + MARGIN).max(2 * MARGIN);
    layout.passes = places
        .iter()
        .map(|passed| {
            let passed = passed.iter().map(|(item, column)| Pass {
                left: extents[*column].0,
                right: extents[*column].1,
                y: items[*item].y + PASS / 2,
            });
            passed.collect()
        })
        .collect();
    layout
}

/// Turns round the lines that lead back to where a walk along the lines came from.
fn without_circles(boxes: usize, lines: &[Option<(usize, usize)>]) -> Vec<Option<(usize, usize)>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Not,
        Open,
        Done,
    }
    let mut outgoing: Vec<Vec<usize>> = vec![Vec::new(); boxes];
    for (at, line) in lines.iter().enumerate() {
        if let Some((from, _)) = line {
            outgoing[*from].push(at);
        }
    }
    let mut turned = lines.to_vec();
    let mut seen = vec![Seen::Not; boxes];
    for start in 0..boxes {
        if seen[start] != Seen::Not {
            continue;
        }
        seen[start] = Seen::Open;
        // No recursion: a chain of models may be long.
        let mut stack = vec![(start, 0)];
        while let Some((at, next)) = stack.pop() {
            let Some(line) = outgoing[at].get(next) else {
                seen[at] = Seen::Done;
                continue;
            };
            stack.push((at, next + 1));
            let Some((_, to)) = lines[*line] else { continue };
            match seen[to] {
                Seen::Not => {
                    seen[to] = Seen::Open;
                    stack.push((to, 0));
                }
                Seen::Open => turned[*line] = Some((to, at)),
                Seen::Done => {}
            }
        }
    }
    turned
}

/// The column of each box: right of all that point to it.
fn columns(boxes: usize, lines: &[Option<(usize, usize)>]) -> Vec<usize> {
    let mut waits_for = vec![0_usize; boxes];
    for (_, to) in lines.iter().flatten() {
        waits_for[*to] += 1;
    }
    let mut column = vec![0; boxes];
    let mut ready: Vec<usize> = (0..boxes).filter(|at| waits_for[*at] == 0).collect();
    while let Some(at) = ready.pop() {
        for (from, to) in lines.iter().flatten() {
            if *from == at {
                column[*to] = column[*to].max(column[at] + 1);
                waits_for[*to] -= 1;
                if waits_for[*to] == 0 {
                    ready.push(*to);
                }
            }
        }
    }
    column
}

/// Orders a column by where the neighbours of its items stand in another one.
fn order(in_column: &mut [Vec<usize>], column: usize, by: usize, neighbours: &[Vec<usize>]) {
    let position = |item: &usize| in_column[by].iter().position(|other| other == item);
    let mut keyed: Vec<(f64, usize)> = Vec::with_capacity(in_column[column].len());
    for (at, item) in in_column[column].iter().enumerate() {
        let places: Vec<usize> = neighbours[*item].iter().filter_map(position).collect();
        let key = if places.is_empty() {
            at as f64
        } else {
            places.iter().sum::<usize>() as f64 / places.len() as f64
        };
        keyed.push((key, *item));
    }
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    in_column[column] = keyed.into_iter().map(|(_, item)| item).collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn overlap(a: &Rect, b: &Rect) -> bool {
        a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
    }

    #[test]
    fn nothing_is_a_drawing_too() {
        let empty = layout(&[], &[]);
        assert_eq!((empty.boxes.len(), empty.width, empty.height), (0, 40, 40));
    }

    #[test]
    fn targets_stand_right_of_their_holders() {
        let size = (100, 50);
        let chain = layout(&[size; 4], &[(0, 1), (1, 2), (0, 2), (3, 3)]);
        let x = |at: usize| chain.boxes[at].x;
        assert!(x(0) < x(1) && x(1) < x(2));
        assert_eq!(x(3), x(0), "a line to itself moves nothing");
        assert_eq!(chain.passes[2].len(), 1, "the long line passes the box between");
    }

    #[test]
    fn a_circle_has_an_end() {
        let size = (100, 50);
        let circle = layout(&[size; 3], &[(0, 1), (1, 2), (2, 0), (1, 0)]);
        let columns: std::collections::BTreeSet<i64> = circle.boxes.iter().map(|rect| rect.x).collect();
        assert_eq!(columns.len(), 3);
    }

    proptest! {
        #[test]
        fn no_box_and_no_line_lies_on_a_box(
            sizes in prop::collection::vec((40_i64..400, 30_i64..300), 0..14),
            lines in prop::collection::vec((0_usize..14, 0_usize..14), 0..40),
        ) {
            let drawn = layout(&sizes, &lines);
            for (at, a) in drawn.boxes.iter().enumerate() {
                prop_assert!(a.width >= sizes[at].0 && a.height == sizes[at].1);
                prop_assert!(a.x >= MARGIN && a.x + a.width <= drawn.width - MARGIN);
                prop_assert!(a.y >= MARGIN && a.y + a.height <= drawn.height - MARGIN);
                for b in &drawn.boxes[at + 1..] {
                    prop_assert!(!overlap(a, b), "{:?} and {:?}", a, b);
                }
                for pass in drawn.passes.iter().flatten() {
                    let line = Rect { x: pass.left, y: pass.y, width: pass.right - pass.left, height: 1 };
                    prop_assert!(!overlap(a, &line), "{:?} and {:?}", a, pass);
                }
            }
            prop_assert_eq!(drawn.passes.len(), lines.len());
        }
    }
}
