//! `private`, `read_only` and `write_only`.

/// Which way a field goes at the edge of a web service: in JSON, in patches and in the parameters of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `private`: neither out nor in.
    Private,
    /// `read_only`: out alone.
    ReadOnly,
    /// `write_only`: in alone.
    WriteOnly,
}

impl Access {
    /// The word of the attribute.
    pub fn word(self) -> &'static str {
        match self {
            Access::Private => "private",
            Access::ReadOnly => "read_only",
            Access::WriteOnly => "write_only",
        }
    }
}
