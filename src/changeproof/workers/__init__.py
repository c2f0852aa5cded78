"""Where pieces are computed: in this process, or in others."""
