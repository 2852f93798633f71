//! Sequence diagrams: the messages between participants, from top to bottom.

use crate::canvas::{Anchor, Canvas, LINE, WIDTH, width, wrapped};

/// Where the lines of the participants stand.
const FIRST: i64 = 70;
const TOP: i64 = 12;
const HEAD: i64 = 26;

/// What happens next.
pub enum Step {
    /// Something is sent, from one participant to another one.
    Call(usize, usize, &'static str),
    /// A command is sent to the server: its name, as a client reports it, is that at the beginning of the text.
    Command(usize, usize, &'static str),
    /// An answer.
    Reply(usize, usize, &'static str),
    /// A state, or a step of one participant.
    Note(usize, &'static str),
    /// A transaction begins, or another part that belongs together.
    Open(&'static str),
    Close,
    /// A participant dies.
    Dies(usize, &'static str),
}

pub struct Sequence {
    pub title: &'static str,
    pub participants: &'static [&'static str],
    pub steps: Vec<Step>,
}

impl Sequence {
    /// The names of the commands, in their order.
    #[allow(dead_code)] // `tests/sequences.rs` compares them with those that are sent
    pub fn commands(&self) -> Vec<&'static str> {
        let commands = self.steps.iter().filter_map(|step| match step {
            Step::Command(_, _, text) => text.split([' ', ':']).next(),
            _ => None,
        });
        commands.collect()
    }

    fn x(&self, participant: usize) -> i64 {
        let between = (WIDTH - 2 * FIRST) / (self.participants.len() as i64 - 1).max(1);
        FIRST + between * participant as i64
    }

    /// All steps in words.
    fn words(&self) -> String {
        let name = |at: &usize| self.participants[*at];
        let steps = self.steps.iter().map(|step| match step {
            Step::Call(from, to, text) | Step::Command(from, to, text) | Step::Reply(from, to, text) => {
                format!("{} to {}: {text}", name(from), name(to))
            }
            Step::Note(at, text) => format!("{}: {text}", name(at)),
            Step::Open(text) => format!("{text} begins"),
            Step::Close => "it ends".to_owned(),
            Step::Dies(at, text) => format!("{} dies: {text}", name(at)),
        });
        steps.collect::<Vec<_>>().join("; ")
    }

    pub fn draw(&self) -> String {
        let mut canvas = Canvas::new(self.title, &self.words());
        // The lines first, below all others; so how long they are is found out by drawing once for nothing.
        let height = self.steps(&mut Canvas::new("", "")) + 12;
        for (at, name) in self.participants.iter().enumerate() {
            let x = self.x(at);
            let wide = width(name) + 16;
            canvas.line("life", (x, TOP + HEAD), (x, height - 6));
            canvas.rect("box", (x - wide / 2, TOP), (wide, HEAD));
            canvas.text("field", Anchor::Middle, (x, TOP + 17), name);
        }
        self.steps(&mut canvas);
        canvas.finish(height)
    }

    /// Draws the steps, and returns where they end.
    fn steps(&self, canvas: &mut Canvas) -> i64 {
        let mut y = TOP + HEAD + 14;
        let mut open: Vec<(i64, &str)> = Vec::new();
        for step in &self.steps {
            match step {
                Step::Call(from, to, text) => self.arrow(canvas, "call", (*from, *to), text, &mut y),
                Step::Command(from, to, text) => self.arrow(canvas, "call", (*from, *to), text, &mut y),
                Step::Reply(from, to, text) => self.arrow(canvas, "reply", (*from, *to), text, &mut y),
                Step::Note(at, text) => {
                    let room = 190;
                    let lines = wrapped(text, room - 16);
                    let wide = lines.iter().map(|line| width(line)).max().unwrap_or(0) + 16;
                    let left = (self.x(*at) - wide / 2).clamp(6, WIDTH - 6 - wide);
                    let tall = lines.len() as i64 * LINE + 8;
                    canvas.rect("box", (left, y), (wide, tall));
                    for (line, text) in lines.iter().enumerate() {
                        let y = y + 15 + line as i64 * LINE;
                        canvas.text("quiet", Anchor::Middle, (left + wide / 2, y), text);
                    }
                    y += tall + 12;
                }
                Step::Open(text) => {
                    open.push((y, text));
                    y += 24;
                }
                Step::Close => {
                    let Some((top, text)) = open.pop() else { continue };
                    let left = self.x(1) - 52;
                    canvas.rect("frame", (left, top), (WIDTH - 6 - left, y - top + 2));
                    canvas.rect("ground", (left + 6, top + 3), (width(text) + 4, LINE));
                    canvas.text("tab", Anchor::Start, (left + 8, top + 15), text);
                    y += 16;
                }
                Step::Dies(at, text) => {
                    let x = self.x(*at);
                    canvas.line("crash", (x - 8, y), (x + 8, y + 16));
                    canvas.line("crash", (x - 8, y + 16), (x + 8, y));
                    canvas.text("bad", Anchor::Start, (x + 18, y + 12), text);
                    y += 32;
                }
            }
        }
        assert!(open.is_empty(), "a part of `{}` has no end", self.title);
        y
    }

    fn arrow(&self, canvas: &mut Canvas, class: &str, (from, to): (usize, usize), text: &str, y: &mut i64) {
        let (x1, x2) = (self.x(from), self.x(to));
        let (left, right) = (x1.min(x2), x1.max(x2));
        for line in wrapped(text, right - left - 12) {
            // Above the lines of other participants.
            let wide = width(&line) + 4;
            canvas.rect("ground", ((left + right - wide) / 2, *y - 3), (wide, LINE));
            canvas.text("field", Anchor::Middle, ((left + right) / 2, *y + 9), &line);
            *y += LINE;
        }
        canvas.arrow(class, (x1, *y), (x2, *y));
        *y += 14;
    }
}
