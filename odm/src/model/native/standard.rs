//! Types of the standard library: durations in milliseconds, addresses of the network as texts.

use super::{OneNative, native};
use crate::model::shape::Shape;
use crate::model::size::Size;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

impl OneNative for Duration {
    type Stored = i64;
    const HAS_TEXT: bool = false;

    fn store(&self) -> Result<i64, String> {
        i64::try_from(self.as_millis())
            .map_err(|_| format!("{self:?} is too long for an i64 of milliseconds"))
    }
    fn load(stored: i64) -> Result<Duration, String> {
        u64::try_from(stored)
            .map(Duration::from_millis)
            .map_err(|_| format!("{stored} milliseconds are no duration: it is negative"))
    }
}

native! {
    Duration as i64: Size::fixed(8), Shape::Long { min: 0, max: i64::MAX }, cut true;
}

macro_rules! addresses {
    ($($ty:ty: $longest:literal;)*) => {$(
        impl OneNative for $ty {
            type Stored = String;
            const HAS_TEXT: bool = false;

            fn store(&self) -> Result<String, String> {
                Ok(self.to_string())
            }
            fn load(stored: String) -> Result<Self, String> {
                stored.parse().map_err(|error| format!("{stored:?} is no address: {error}"))
            }
        }
        native! {
            $ty as String: Size::fixed(5 + $longest), Shape::String, cut false;
        }
    )*};
}

// The longest text of each; that of a socket has a scope too.
addresses! {
    IpAddr: 39;
    Ipv4Addr: 15;
    Ipv6Addr: 39;
    SocketAddr: 58;
}
