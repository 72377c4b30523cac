//! Small PNG files, made without an encoder.

/// A black image of 8 bits per pixel.
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
    // Each row starts with the number of its filter.
    let rows = vec![0; (width as usize + 1) * height as usize];
    let mut data = b"\x78\x01".to_vec();
    let mut blocks = rows.chunks(u16::MAX.into()).peekable();
    while let Some(block) = blocks.next() {
        data.push(u8::from(blocks.peek().is_none()));
        let length = block.len() as u16;
        data.extend(
            length
                .to_le_bytes()
                .into_iter()
                .chain((!length).to_le_bytes())
                .chain(block.iter().copied()),
        );
    }
    // Adler-32 of zeros only.
    data.extend((((rows.len() % 65_521) as u32) << 16 | 1).to_be_bytes());
    let chunks = [png_chunk(b"IHDR", &header), png_chunk(b"IDAT", &data), png_chunk(b"IEND", b"")];
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunks.concat()].concat()
}

/// A chunk of a PNG file.
pub fn png_chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u32).to_be_bytes();
    let checked = [kind, data].concat();
    [&length[..], &checked, &crc32(&checked).to_be_bytes()].concat()
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}
