//! Messages of protocol buffers, as far as one writes them: fields by number, one after the other.

/// A message in the making.
#[derive(Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    /// Adds an integer.
    pub(crate) fn int(mut self, field: u32, value: i64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value as u64);
        self
    }

    /// Adds bytes or text.
    pub(crate) fn bytes(mut self, field: u32, bytes: impl AsRef<[u8]>) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.as_ref().len() as u64);
        self.0.extend_from_slice(bytes.as_ref());
        self
    }

    /// Adds a message.
    pub(crate) fn message(self, field: u32, message: Self) -> Self {
        self.bytes(field, message.0)
    }

    /// Adds a field that is there more than once.
    pub(crate) fn each<T>(
        self,
        items: impl IntoIterator<Item = T>,
        add: impl FnMut(Self, T) -> Self,
    ) -> Self {
        items.into_iter().fold(self, add)
    }

    /// The whole message.
    pub(crate) fn end(self) -> Vec<u8> {
        self.0
    }

    /// Seven bits a byte, the lowest first; all but the last have the eighth.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the format's own description.
    #[test]
    fn messages_are_as_described() {
        assert_eq!(Message::default().int(1, 150).end(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().bytes(2, "testing").end(), b"\x12\x07testing");
        let inner = Message::default().int(1, 150);
        assert_eq!(Message::default().message(3, inner).end(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(Message::default().int(1, -1).end().len(), 11);
    }
}
