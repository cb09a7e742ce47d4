"""Encoders: from word ids to states that decoders attend to."""
