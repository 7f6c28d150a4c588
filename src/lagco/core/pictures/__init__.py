"""Pictures of states: parts of drawings, files and animations."""
