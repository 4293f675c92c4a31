/// A family in the Hugging Face format, as data: names of its tensors and keys of its config.json.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Order of the rows of several Ziggurat tensors in one Hugging Face tensor.
enum class PartOrder {
    in_turn,  ///< all rows of the first tensor, then all rows of the second
    by_head,  ///< for each head the rows of the first tensor, then of the second ...
};

/// A Hugging Face tensor and the Ziggurat tensors that it holds. In names, {} is the number of a layer.
struct HfTensor {
    const char* name;                ///< `transformer.h.{}.attn.c_attn.weight`
    std::vector<const char*> parts;  ///< `layers.{}.attention.q.weight` ...
    bool is_transposed = false;      ///< a matrix of [in, out] instead of [out, in], which Ziggurat uses
    PartOrder order = PartOrder::in_turn;
    bool is_optional = false;  ///< exists only in models that have its parts
};

/// Relation of a number in config.json to that of the deck, which is a factor.
enum class HfForm {
    same,
    divisor,          ///< the deck has 1 / number
    squared_divisor,  ///< the deck has 1 / sqrt(number)
};

/// A key of config.json that corresponds to a deck key.
struct HfKey {
    const char* name;
    const char* deck_key;  ///< `model.hidden`
    /// Value in deck syntax if config.json has no value or null; nullptr: the key is required.
    const char* fallback = nullptr;
    /// Name in the map `rope_parameters` of newer files; nullptr: the key does not concern positions.
    const char* in_rope_parameters = nullptr;
    /// Alternative name of the key that transformers accepts for this family.
    ///
    /// nullptr: it has only one name.
    const char* alias = nullptr;
    HfForm form = HfForm::same;
    /// Value in deck syntax for null; nullptr: null counts as a missing key, or as false for a boolean.
    const char* on_null = nullptr;
    bool is_never_null = false;  ///< the class needs a value even if it has no effect: the fallback
    bool is_integer = false;  ///< the class accepts only whole numbers, although the deck's value is a factor
};

/// A key of config.json with a number for each layer. Layers n, 2n, 3n ... have another number.
struct HfLayerList {
    const char* name;      ///< `no_rope_layers`
    const char* interval;  ///< key that gives n itself: `no_rope_layer_interval`
    const char* deck_key;  ///< of n; 0 if no layer differs
    int usual = 1;         ///< the number of the other layers
    int special = 0;       ///< the number of layers n, 2n, 3n ...
    const char* fallback;  ///< n if config.json has neither
};

/// A key of config.json whose value is fixed for the family.
struct HfFact {
    const char* name;
    std::vector<const char*> values;  ///< as JSON; export writes the first, import accepts all
};

/// Kinds of JSON values that the class of transformers 5 accepts for a key, one bit each.
struct HfType {
    unsigned kinds = 0;

    constexpr bool has(HfType other) const { return (kinds & other.kinds) != 0; }
    friend constexpr HfType operator|(HfType a, HfType b) { return {a.kinds | b.kinds}; }
};
inline constexpr HfType hf_null{1}, hf_whole{2}, hf_real{4}, hf_boolean{8}, hf_text{16}, hf_map{32},
    hf_whole_list{64}, hf_text_list{128};

/// A key of config.json and its type in the class of transformers 5.
struct HfField {
    const char* name;
    HfType type;
};

/// Returns the types that the classes of all families declare, and those in `own`.
std::vector<HfField> hf_fields(std::vector<HfField> own);

/// Models of text and images whose text part is a model of the family. Only that part is read.
struct HfWrapper {
    const char* model_type = nullptr;  ///< nullptr: the family has no such models
    const char* text_config = "";      ///< map of config.json with the keys of the text part
    const char* prefix = "";           ///< of the names of all tensors of the text part
    /// Prefixes of tensors of the other parts, which are left out.
    std::vector<const char*> others = {};
};

/// Description of a family's models in the Hugging Face format.
struct Published {
    const char* model_type = "";
    HfWrapper wrapper = {};
    const char* architecture = "";           ///< the class of transformers with the head
    const char* prefix = "";                 ///< of tensor names; files without the head omit it
    std::vector<HfTensor> tensors;           ///< the embedding, one layer and the norm before the head
    const char* head = "";                   ///< the head's weight, if it is not the embedding's
    std::vector<const char*> left_out = {};  ///< tensors in older files that hold no weights
    std::vector<HfKey> keys = {};
    std::vector<HfFact> facts = {};
    std::vector<HfLayerList> layer_lists = {};
    std::vector<HfField> fields = {};   ///< keys whose type the class checks
    bool has_whole_heads_only = false;  ///< the class refuses heads that do not divide the width
    /// `pad_token_id` of the class without such a key in config.json; -1: null, or a small one.
    std::int64_t default_pad = -1;
    /// Key of config.json without which `sliding_window` has no effect; nullptr: it always has.
    const char* window_switch = nullptr;
    /// Key of the number of first layers without a window; nullptr: all layers have it.
    const char* full_layers = nullptr;
    int usual_full_layers = 0;     ///< that number if config.json does not have the key
    bool has_layer_types = false;  ///< the class reads `layer_types`, a list with an entry for each layer
    /// Key of n without `layer_types`: layers n, 2n, 3n ... have no window; nullptr: it has no such key.
    const char* window_pattern = nullptr;
    int usual_window_pattern = 0;  ///< n if config.json has neither; 0: all layers have the window
    /// Kinds of scaled positions that its class of transformers accepts; empty: all.
    std::vector<spec::RopeScalingKind> scalings = {};
    /// Types of scaling in older files that are longrope.
    std::vector<const char*> older_longrope = {};
    /// Default of `original_max_position_embeddings`, if it is outside of the map, which then has only the
    /// type and the lists of factors; nullptr: it is in the map.
    const char* original_max_seq = nullptr;
};

}  // namespace ziggurat::layout
