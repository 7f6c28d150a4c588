"""Commands on studies, their reports, and speed."""
