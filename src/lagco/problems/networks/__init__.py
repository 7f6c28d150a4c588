"""What `ospf` and `traffic` share: networks with demands, their generator, loads and bounds."""
