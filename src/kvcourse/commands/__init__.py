"""The subcommands of `kvcourse`, one module each."""
