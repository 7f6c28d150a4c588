"""Records of finished tasks."""
