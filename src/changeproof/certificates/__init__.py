"""What a network says when its parameters move inside a box: proven, refuted or sampled."""
