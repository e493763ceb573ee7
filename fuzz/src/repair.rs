//! Checksums made right again, so that mutations reach what is behind them.

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

const ALIGNMENT: usize = 64;
const TRAILER: usize = 32;
const END_MAGIC: &[u8] = b"Sfeatgen";

/// A store with right checksums; with `sizes_too`, arrays are also said to follow each other as they must. `None` if no index
/// can be found in it.
pub(crate) fn store(bytes: &[u8], sizes_too: bool) -> Option<Vec<u8>> {
    let begin = bytes.windows(8).rposition(|window| window == b"{\"rows\":")?;
    let end = begin + bytes[begin..].iter().rposition(|&c| c == b'}')? + 1;
    let mut file = bytes[..begin].to_vec();
    if sizes_too {
        file.resize(begin.next_multiple_of(ALIGNMENT), 0);
    }
    let index = match serde_json::from_slice::<Value>(&bytes[begin..end]) {
        Ok(mut index) => {
            let mut next = ALIGNMENT as u64;
            each_section(&mut index, &mut |section| {
                if sizes_too && let Some(length) = section["length"].as_u64() {
                    section["offset"] = next.into();
                    next = next
                        .saturating_add(length)
                        .checked_next_multiple_of(ALIGNMENT as u64)
                        .unwrap_or(next);
                }
                let sum = checksum(&file, section);
                section["checksum"] = sum.map_or(Value::Null, Value::from);
            });
            if sizes_too && next < 1 << 20 {
                file.resize(next as usize, 0);
                each_section(&mut index, &mut |section| {
                    section["checksum"] = checksum(&file, section).map_or(Value::Null, Value::from);
                });
            }
            serde_json::to_vec(&index).ok()?
        }
        // Whatever it is, it has its checksum.
        Err(_) => bytes[begin..end].to_vec(),
    };
    let offset = file.len() as u64;
    file.extend(&index);
    for number in [offset, index.len() as u64, xxh3_64(&index)] {
        file.extend(number.to_le_bytes());
    }
    file.extend(END_MAGIC);
    debug_assert!(file.len() >= TRAILER);
    Some(file)
}

fn checksum(file: &[u8], section: &Value) -> Option<u64> {
    let offset = usize::try_from(section["offset"].as_u64()?).ok()?;
    let length = usize::try_from(section["length"].as_u64()?).ok()?;
    let end = offset.checked_add(length)?.checked_next_multiple_of(ALIGNMENT)?;
    file.get(offset..end).map(xxh3_64)
}

/// Calls `each` with everything that looks like the place of an array, in the order of the index.
fn each_section(value: &mut Value, each: &mut dyn FnMut(&mut Value)) {
    if value.get("offset").is_some() && value.get("length").is_some() {
        each(value);
        return;
    }
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| each_section(value, each)),
        Value::Object(map) => map.values_mut().for_each(|value| each_section(value, each)),
        _ => {}
    }
}

/// A checkpoint with a right checksum, and a right length of its header if that can be found.
pub(crate) fn checkpoint(bytes: &[u8]) -> Option<Vec<u8>> {
    const PROLOGUE: usize = 24;
    let content = bytes.len().checked_sub(8).filter(|&length| length >= PROLOGUE)?;
    let mut file = bytes[..content].to_vec();
    let mut values = serde_json::Deserializer::from_slice(&file[PROLOGUE..]).into_iter::<Value>();
    if let Some(Ok(header)) = values.next() {
        let length = values.byte_offset();
        let mut arrays = file.split_off(PROLOGUE + length);
        // As many numbers as the header promises, where that is not too many.
        let promised = header["lengths"].as_array().into_iter().flatten().filter_map(Value::as_u64);
        let promised = promised.fold(0u64, u64::saturating_add).saturating_mul(8);
        if promised < 1 << 16 {
            arrays.resize(promised as usize, 0);
        }
        file[16..24].copy_from_slice(&(length as u64).to_le_bytes());
        file.extend(arrays);
    }
    let checksum = xxh3_64(&file);
    file.extend(checksum.to_le_bytes());
    Some(file)
}
