#include "layout/families/hf_format.hpp"

namespace ziggurat::layout {

std::vector<HfField> hf_fields(std::vector<HfField> own) {
    own.insert(own.end(), {{"vocab_size", hf_whole},
                           {"initializer_range", hf_real},
                           {"use_cache", hf_boolean},
                           {"tie_word_embeddings", hf_boolean},
                           {"bos_token_id", hf_whole | hf_null},
                           {"eos_token_id", hf_whole | hf_whole_list | hf_null},
                           {"pad_token_id", hf_whole | hf_null},
                           {"num_labels", hf_whole | hf_boolean}});
    return own;
}

}  // namespace ziggurat::layout
