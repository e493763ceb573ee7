//! How many bytes whole numbers take that are kept in great numbers: two where those suffice.

use serde::{Deserialize, Serialize};

/// Bytes of a number; in files, their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub(super) enum Width {
    Two,
    Four,
}

impl Width {
    /// What numbers up to `largest` need.
    pub(super) fn of(largest: u64) -> Self {
        if u16::try_from(largest).is_ok() { Self::Two } else { Self::Four }
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Four => 4,
        }
    }
}

impl From<Width> for u8 {
    fn from(width: Width) -> Self {
        width.bytes() as u8
    }
}

impl TryFrom<u8> for Width {
    type Error = String;

    fn try_from(bytes: u8) -> Result<Self, String> {
        let known = [Self::Two, Self::Four].into_iter().find(|width| u8::from(*width) == bytes);
        known.ok_or_else(|| format!("numbers of {bytes} bytes, neither 2 nor 4"))
    }
}
