//! The closed vocabularies of the records: drop-down options as types (REC-10).

use std::fmt;

/// Declares an enum whose variants are drop-down options.
macro_rules! options {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name { $($(#[$vmeta])* #[doc = concat!("`", $text, "`")] $variant),+ }

        impl $name {
            /// Every option, in the order of the form.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The option text as stored.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// Reads a stored option; `None` for any other text.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

options! {
    /// Aggregate status of a Run (AGG-01).
    RunStatus {
        Created = "CREATED",
        Running = "RUNNING",
        Success = "SUCCESS",
        Failed = "FAILED",
        Cancelled = "CANCELLED",
        Unknown = "UNKNOWN",
    }
}

options! {
    /// Status of a Node State (TRN-01). `SKIPPED` is reserved: nobody writes it.
    NodeStatus {
        Waiting = "WAITING",
        Running = "RUNNING",
        Success = "SUCCESS",
        Failed = "FAILED",
        Blocked = "BLOCKED",
        Skipped = "SKIPPED",
        Cancelled = "CANCELLED",
        Unknown = "UNKNOWN",
    }
}

options! {
    /// Status of an Attempt or an Invocation (TRN-02, TRN-03).
    AttemptStatus {
        Running = "RUNNING",
        Success = "SUCCESS",
        Failed = "FAILED",
        Cancelled = "CANCELLED",
        Unknown = "UNKNOWN",
    }
}

options! {
    /// Whether a Run is still worked on (TRN-05).
    Lifecycle {
        Active = "ACTIVE",
        Archived = "ARCHIVED",
    }
}

options! {
    /// How an Invocation came to its Run.
    Mode {
        New = "NEW",
        Resume = "RESUME",
        RerunFrom = "RERUN_FROM",
    }
}

options! {
    /// State of a hold (TRN-06).
    HoldState {
        Requested = "REQUESTED",
        Accepted = "ACCEPTED",
        Released = "RELEASED",
    }
}

options! {
    /// What a person says an attempt really did.
    Outcome {
        Success = "SUCCESS",
        Failed = "FAILED",
        Cancelled = "CANCELLED",
    }
}

impl RunStatus {
    /// SUCCESS, FAILED, CANCELLED and UNKNOWN have a finish time; the others do not.
    pub const fn is_terminal(self) -> bool {
        !matches!(self, Self::Created | Self::Running)
    }
}

impl NodeStatus {
    /// No attempt is to be expected without a further decision.
    pub const fn is_terminal(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }
}

impl AttemptStatus {
    /// Anything but RUNNING.
    pub const fn is_terminal(self) -> bool {
        !matches!(self, Self::Running)
    }

    /// The Node State status that says the same.
    pub const fn as_node(self) -> NodeStatus {
        match self {
            Self::Running => NodeStatus::Running,
            Self::Success => NodeStatus::Success,
            Self::Failed => NodeStatus::Failed,
            Self::Cancelled => NodeStatus::Cancelled,
            Self::Unknown => NodeStatus::Unknown,
        }
    }
}

impl Outcome {
    /// The Node State status that a resolution leads to.
    pub const fn as_node(self) -> NodeStatus {
        match self {
            Self::Success => NodeStatus::Success,
            Self::Failed => NodeStatus::Failed,
            Self::Cancelled => NodeStatus::Cancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_reads_back() {
        for s in NodeStatus::ALL {
            assert_eq!(NodeStatus::parse(s.as_str()), Some(*s));
        }
        assert_eq!(RunStatus::parse("WAITING"), None);
        assert_eq!(NodeStatus::parse("success"), None);
    }
}
