//! Regular files by handle: read in large pieces, bounded memory.
