//! Leases, by which workers leave pending work to the process that applies it already: that they save work, and that nothing
//! else depends on them.
//!
//! A source with two holders and the pending work of a process that has died, two updates of it, and two workers. A worker finds
//! the work if it is free, takes the lease if the work is still free then, and applies the work that it has read: each of these is
//! a step, and so is each holder that it writes. Where the clock runs, a lease may run out at any time, and so may the time for
//! which work is left to its writer. That includes clocks that differ, also between two workers, and a process that is suspended
//! in the middle of its delivery and goes on when another one has applied the work.

use crate::checking::{fails, holds};
use stateright::{Model, Property};

type Token = u8;

/// No pending work, and no lease.
const NONE: Token = 0;
/// The pending work of a process that has died.
const DEAD: Token = 100;
const HOLDERS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Source {
    version: u8,
    pending: Token,
    /// Whether the pending work is still left to its writer.
    young: bool,
    /// The worker that has taken the work.
    lease: Token,
}

/// A part of the protocol that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Safeguard {
    /// Taking the lease at all.
    Lease,
    /// The condition that no other worker has it, when it is taken.
    FreeWhenTaken,
    /// Leaving young pending work to its writer.
    Young,
    VersionInDelivery,
    TokenInClear,
    /// That a lease runs out.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Work {
    Update,
    Worker,
    Clock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    /// Reads the source under its token.
    Drains,
    /// Has found pending work in the source.
    Takes(Source),
    Delivers(Source, u8),
    Clears(Source),
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    source: Source,
    /// The versions of the copies.
    copies: [u8; HOLDERS],
    at: Vec<At>,
    /// Whether an older copy ever replaced a newer one.
    fell: bool,
    /// Whether a worker ever applied work while another process was applying it.
    twice: bool,
}

#[derive(Clone, Debug)]
struct Leases {
    processes: Vec<Work>,
    without: Vec<Safeguard>,
}

impl Leases {
    fn lacks(&self, safeguard: Safeguard) -> bool {
        self.without.contains(&safeguard)
    }

    /// Whether a worker finds that no other process is applying the pending work.
    fn is_free(&self, source: &Source) -> bool {
        let young = source.young && !self.lacks(Safeguard::Young);
        source.pending != NONE && !young && (source.lease == NONE || self.lacks(Safeguard::Lease))
    }

    /// The next step of a process; `None` where it has returned, or does nothing.
    fn step(&self, state: &State, process: usize, work: Work) -> Option<State> {
        let mut next = state.clone();
        let own = process as u8 + 1;
        let at = match (state.at[process], work) {
            (At::Done, _) => return None,
            (At::Start, Work::Clock) => {
                if !state.source.young && (state.source.lease == NONE || self.lacks(Safeguard::End)) {
                    return None;
                }
                next.source.young = false;
                if !self.lacks(Safeguard::End) {
                    next.source.lease = NONE;
                }
                At::Start
            }
            (At::Start, Work::Update) => {
                (next.source.version, next.source.pending) = (state.source.version + 1, own);
                next.source.young = true;
                At::Drains
            }
            (At::Drains, _) if state.source.pending == own => At::Delivers(state.source, 0),
            (At::Drains, _) => At::Done,
            (At::Start, Work::Worker) if self.is_free(&state.source) => At::Takes(state.source),
            (At::Start, Work::Worker) => At::Done,
            (At::Takes(read), _) => {
                if self.is_free(&state.source) || self.lacks(Safeguard::FreeWhenTaken) {
                    if !self.lacks(Safeguard::Lease) {
                        next.source.lease = own;
                    }
                    let others = state.at.iter().enumerate().filter(|(other, _)| *other != process);
                    next.twice |= others.map(|(_, at)| at).any(|at| match at {
                        At::Delivers(of, _) | At::Clears(of) => of.pending == state.source.pending,
                        _ => false,
                    });
                    At::Delivers(read, 0)
                } else {
                    At::Done
                }
            }
            (At::Delivers(read, holder), _) => match next.copies.get_mut(holder as usize) {
                None => At::Clears(read),
                Some(copy) => {
                    if *copy < read.version || self.lacks(Safeguard::VersionInDelivery) {
                        next.fell |= *copy > read.version;
                        *copy = read.version;
                    }
                    At::Delivers(read, holder + 1)
                }
            },
            (At::Clears(read), _) => {
                if state.source.pending == read.pending || self.lacks(Safeguard::TokenInClear) {
                    let there = &mut next.source;
                    (there.pending, there.young, there.lease) = (NONE, false, NONE);
                }
                At::Done
            }
        };
        next.at[process] = at;
        Some(next)
    }

    /// The state after everybody has died, all times have passed, and one worker has gone its round: or a recovery, which
    /// waits for nothing.
    fn recovered(&self, state: &State, by_worker: bool) -> State {
        let process = self.processes.len();
        let mut state = state.clone();
        if !by_worker || !self.lacks(Safeguard::End) {
            (state.source.young, state.source.lease) = (false, NONE);
        }
        state.at = vec![At::Done; process];
        state.at.push(At::Start);
        while let Some(next) = self.step(&state, process, Work::Worker) {
            state = next;
        }
        state
    }
}

impl State {
    fn is_true(&self) -> bool {
        self.source.pending == NONE && self.copies.iter().all(|copy| *copy == self.source.version)
    }
}

const AT_THE_END: &str = "after a crash and a recovery, every copy equals its source";
const BY_A_WORKER: &str = "after a crash, and the time of the leases, a worker brings every copy up to date";
const NEVER_OLDER: &str = "an older copy never replaces a newer one";
const ONCE: &str = "no two processes apply the same work";

impl Model for Leases {
    type State = State;
    type Action = (usize, Work, At);

    fn init_states(&self) -> Vec<State> {
        vec![State {
            // A process that has died has left pending work, a while ago.
            source: Source {
                version: 2,
                pending: DEAD,
                young: false,
                lease: NONE,
            },
            copies: [1; HOLDERS],
            at: vec![At::Start; self.processes.len()],
            fell: false,
            twice: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Self::Action>) {
        let all = state.at.iter().zip(&self.processes).enumerate();
        let open = all.filter(|(_, (at, _))| **at != At::Done);
        actions.extend(open.map(|(process, (at, work))| (process, *work, *at)));
    }

    fn next_state(&self, state: &State, action: Self::Action) -> Option<State> {
        self.step(state, action.0, action.1)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let runs = self.processes.contains(&Work::Clock);
        let mut properties = vec![
            Property::always(AT_THE_END, |model: &Leases, state: &State| {
                model.recovered(state, false).is_true()
            }),
            Property::always(BY_A_WORKER, |model: &Leases, state: &State| {
                model.recovered(state, true).is_true()
            }),
            Property::always(NEVER_OLDER, |_, state: &State| !state.fell),
        ];
        // That work is saved is only so as long as the leases last.
        if !runs {
            properties.push(Property::always(ONCE, |_, state: &State| !state.twice));
        }
        properties
    }
}

/// Two updates of a source, and two workers; the clock runs.
fn clock_runs() -> Leases {
    let processes = [[Work::Update; 2].as_slice(), &[Work::Worker; 2], &[Work::Clock]];
    Leases {
        processes: processes.concat(),
        without: Vec::new(),
    }
}

/// The same while no lease runs out.
fn clock_stands() -> Leases {
    let processes = [[Work::Update; 2].as_slice(), &[Work::Worker; 2]];
    Leases {
        processes: processes.concat(),
        without: Vec::new(),
    }
}

fn without(model: Leases, safeguards: &[Safeguard]) -> Leases {
    let without = safeguards.to_vec();
    Leases { without, ..model }
}

#[test]
fn leases_only_save_work() {
    holds(
        "leases: two updates, two workers, clocks that differ",
        clock_runs(),
    );
    holds(
        "leases: two updates, two workers, no lease expires",
        clock_stands(),
    );
    // Nothing but the work depends on them.
    let none = [Safeguard::Lease, Safeguard::FreeWhenTaken, Safeguard::Young];
    holds(
        "leases: two updates, two workers, without leases",
        without(clock_runs(), &none),
    );
}

#[test]
fn each_part_of_a_lease_saves_work_and_each_fence_is_needed() {
    let cases = [
        ("lease of a worker", clock_stands(), Safeguard::Lease, ONCE),
        (
            "condition that no other worker has the lease",
            clock_stands(),
            Safeguard::FreeWhenTaken,
            ONCE,
        ),
        (
            "leaving new pending work to its writer",
            clock_stands(),
            Safeguard::Young,
            ONCE,
        ),
        ("end of a lease", clock_runs(), Safeguard::End, BY_A_WORKER),
        (
            "version in the filter of a worker whose lease has expired",
            clock_runs(),
            Safeguard::VersionInDelivery,
            NEVER_OLDER,
        ),
        (
            "ids in the filter of a worker whose lease has expired",
            clock_runs(),
            Safeguard::TokenInClear,
            AT_THE_END,
        ),
    ];
    for (name, model, safeguard, property) in cases {
        fails(name, without(model, &[safeguard]), property);
    }
}
