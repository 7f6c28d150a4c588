"""Events of clouds: machines that come, go, grow, fail and are emptied."""
