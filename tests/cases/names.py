"""What rows call the same thing: our servers', papers' and configuration files' names."""

LAYERS = ("layers", "num_layers", "n_layers", "n_layer", "num_hidden_layers", "block_count")
KV_HEADS = ("kv_heads", "num_kv_heads", "n_kv_heads", "n_head_kv", "num_key_value_heads", "head_count_kv")
EACH_HEADS = (*KV_HEADS, "kv_heads_per_layer", "n_head_kv_per_layer")
HEADS = ("heads", "q_heads", "num_heads", "n_heads", "n_head", "num_attention_heads")
HEAD_DIM = ("head_dim", "d_head", "head_size")
KEY_DIM = ("head_dim_k", "k_head_dim", "n_embd_head_k", "qk_head_dim")
VALUE_DIM = ("head_dim_v", "v_head_dim", "n_embd_head_v")
HIDDEN = ("hidden", "hidden_size", "d", "d_model", "n_embd", "n_state")

FULL = ("full", "full_layers", "full_attention_layers", "global_layers", "attn_layers", "attention_layers",
        "layers_with_attention", "num_attention_layers", "n_attn_layers")  # fmt: skip
SLIDING = ("swa", "swa_layers", "sliding", "sliding_layers", "sliding_attention_layers", "local_layers",
           "swa_layers_with_kv", "window_layers", "chunked_layers")  # fmt: skip
FULL_EVERY = ("full_every", "global_every", "sliding_window_pattern", "swa_period")
STORED = ("stored_layers", "layers_with_kv", "kv_layers")
SHARED = ("kv_shared_layers", "num_kv_shared_layers", "shared_layers")
WINDOW = ("window", "sliding_window", "n_swa", "swa_window", "attention_chunk_size")
WIDE_HEADS, WIDE_DIM = ("global_kv_heads", "num_global_key_value_heads"), ("global_head_dim", "full_head_dim")
SLIM_HEADS, SLIM_DIM = ("swa_kv_heads", "swa_num_key_value_heads"), ("swa_head_dim",)

LATENT, RANK = ("latent", "latent_dim"), ("kv_lora_rank", "latent_rank")
ROPE = ("qk_rope_head_dim", "rope_dim", "rope", "qk_rope_dim")
INDEX = ("indexer", "index", "index_head_dim", "index_dim", "indexer_dim")

RECURRENT = ("mamba_layers", "linear_layers", "linear_attention_layers", "gdn_layers", "recurrent_layers",
             "ssm_layers", "num_mamba_layers")  # fmt: skip
STATE_HEADS = ("linear_num_value_heads", "mamba_num_heads", "ssm_heads", "n_v_heads")
STATE_DTYPE = ("state_dtype", "ssm_dtype", "mamba_ssm_dtype", "mamba_ssm_cache_dtype")
KERNEL = ("linear_conv_kernel_dim", "conv_kernel", "d_conv", "mamba_d_conv")

TP = ("tp", "tensor_parallel", "tensor_parallel_size", "devices", "gpus", "ranks", "tp_size", "world_size")
DCP = ("dcp", "decode_context_parallel_size")
BLOCK = ("block", "block_size", "tokens_per_block", "page_size", "block_tokens")
BLOCKS = ("blocks", "num_blocks", "gpu_blocks", "n_blocks", "num_gpu_blocks")
MAX_LEN = ("max_len", "max_model_len", "max_seq_len")

TOKENS = ("tokens", "seq_len", "context", "context_length", "n_tokens", "ctx_len", "length", "max_length",
          "seqlen", "n_text_ctx", "n_audio_ctx")  # fmt: skip
CELLS = ("cells", "kv_size", "n_cells")
SLOTS = ("slots", "n_parallel", "n_seq_max")
CONTEXT = ("n_ctx", "ctx", "ctx_size")
UBATCH = ("n_ubatch", "ubatch")
BATCH = ("batch", "batch_size", "seqs", "sequences", "num_seqs", "n_seqs", "users", "requests", "concurrent")
FACTOR = ("factor", "decoders", "n_decoders", "beams", "num_beams", "beam_width")

DTYPE = ("dtype", "type", "kv_dtype", "cache_dtype", "kv_cache_dtype")
TYPE_K = ("type_k", "dtype_k", "k_type", "k_dtype", "cache_type_k")
TYPE_V = ("type_v", "dtype_v", "v_type", "v_dtype", "cache_type_v")
WIDTH = ("dtype_bytes", "bytes_per_element", "elem_bytes", "bytes", "kv_bytes_per_element")
