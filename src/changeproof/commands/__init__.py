"""The commands, by what people want to do. Heavy imports wait until one is called."""
