//! What an Arrow file claims to hold, compared with what it has: its reader would ask for that much memory, and a demand that fails
//! ends the process.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use arrow_ipc::{RecordBatch, root_as_footer, root_as_message};
use arrow_schema::ArrowError;

/// The most that LZ4 makes of a byte.
const EXPANSION: u64 = 256;

/// Rows that a batch without any bytes may have: of columns that are all missing.
const EMPTY_ROWS: u64 = 1 << 20;

/// The end of a file: the length of its footer, and a mark.
const END: u64 = 10;

/// Whether all sizes of a file are possible.
pub(super) fn check(file: &mut File) -> Result<(), ArrowError> {
    let length = file.metadata()?.len();
    let begin = length.checked_sub(END).ok_or_else(impossible)?;
    let end = bytes(file, begin, END)?;
    let footer = u64::from(u32::from_le_bytes([end[0], end[1], end[2], end[3]]));
    let footer = bytes(file, begin.checked_sub(footer).ok_or_else(impossible)?, footer)?;
    let footer = root_as_footer(&footer).map_err(|_| impossible())?;
    for block in [footer.dictionaries(), footer.recordBatches()].into_iter().flatten().flatten() {
        let number = |number: i64| u64::try_from(number).map_err(|_| impossible());
        let (offset, body) = (number(block.offset())?, number(block.bodyLength())?);
        let head = number(block.metaDataLength().into())?;
        let start = offset.checked_add(head).ok_or_else(impossible)?;
        if start.checked_add(body).is_none_or(|end| end > length) {
            return Err(impossible());
        }
        let head = bytes(file, offset, head)?;
        // Since version 0.15 of the format a mark comes before the length.
        let skip = if head.starts_with(&[0xff; 4]) { 8 } else { 4 };
        let message = root_as_message(head.get(skip..).unwrap_or_default()).map_err(|_| impossible())?;
        let dictionary = message.header_as_dictionary_batch().and_then(|batch| batch.data());
        if let Some(batch) = message.header_as_record_batch().or(dictionary) {
            check_batch(file, batch, start, body)?;
        }
    }
    Ok(())
}

/// The same of a batch whose body is so many bytes from a place on.
fn check_batch(file: &mut File, batch: RecordBatch<'_>, start: u64, body: u64) -> Result<(), ArrowError> {
    // A row takes a bit at least, before it was compressed.
    let most = body.saturating_mul(8 * EXPANSION).max(EMPTY_ROWS);
    if u64::try_from(batch.length()).is_ok_and(|rows| rows > most) {
        return Err(impossible());
    }
    if batch.compression().is_none() {
        return Ok(());
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let (offset, length) = (buffer.offset() as u64, buffer.length() as u64);
        if offset.checked_add(length).is_none_or(|end| end > body) {
            return Err(impossible());
        }
        if length >= 8 {
            // How long it was; negative where it was not compressed.
            let claimed = bytes(file, start + offset, 8)?;
            let claimed = i64::from_le_bytes(claimed.try_into().map_err(|_| impossible())?);
            if claimed > 0 && claimed as u64 > length.saturating_mul(EXPANSION) {
                return Err(impossible());
            }
        }
    }
    Ok(())
}

fn bytes(file: &mut File, offset: u64, length: u64) -> Result<Vec<u8>, ArrowError> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset))?;
    // As many as there are, whatever is claimed.
    file.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(impossible()) }
}

fn impossible() -> ArrowError {
    ArrowError::IpcError("it claims to hold more than it does".to_owned())
}
