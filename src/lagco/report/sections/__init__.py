"""The sections of the page, one module each: from a study to blocks, or to a sentence."""
