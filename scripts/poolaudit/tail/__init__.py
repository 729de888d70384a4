"""The tail: what the runs returned and nobody judged, sampled, judged, estimated, folded in."""
