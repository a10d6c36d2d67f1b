//! The framing of tiles: chunks, each behind its lengths.
