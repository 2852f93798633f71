//! The protocol by which copies stay true, as models that are checked exhaustively.
//!
//! It needs no server and does not link `odm`: what is checked is the protocol that `odm/src/rules` and `odm/src/engine` follow, with
//! every order of the steps of several processes, and a crash of any of them between any two steps. Each of its safeguards
//! is also left out once, and then the checker has to find out what goes wrong: so the models are known to be able to fail,
//! and none of the safeguards is there for nothing.
//!
//! A crash is no step of its own. A process that is never chosen again has crashed; so what has to be true after all have
//! returned or died and a recovery has run is asked in *every* state that can be reached.

#[cfg(test)]
mod checking;
#[cfg(test)]
mod children;
#[cfg(test)]
mod claims;
#[cfg(test)]
mod commits;
#[cfg(test)]
mod copies;
#[cfg(test)]
mod deletions;
#[cfg(test)]
mod followed;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod leases;
#[cfg(test)]
mod migrations;
#[cfg(test)]
mod parents;
#[cfg(test)]
mod passing;
#[cfg(test)]
mod references;
#[cfg(test)]
mod shards;
#[cfg(test)]
mod transactions;
