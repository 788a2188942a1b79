//! What a failed request proves, and what its caller may do next.

/// Whether the failed request changed anything that others can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Proven: no attempt of this request made anything visible, nor will.
    None,
    /// The operation is committed.
    Committed,
    /// Not known yet: ask `GetOperation`, or resend with the same operation id.
    Unknown,
}

/// What the caller may do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retry {
    /// Send the same request again, with the same operation id.
    SameRequest,
    /// Read again, decide again, and send a new request.
    AfterReread,
    /// The same request will never succeed.
    Never,
}
