/// Files and keys for the use of an exported model: tokenizer, special tokens, templates.
#pragma once

#include <memory>
#include <string>

#include "data/tokenizer/text_tokenizer.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

struct Companions {
    std::string folder;  ///< source folder of the files; empty: no files
    std::string file;    ///< path of the tokenizer, if transformers expects another file name
    std::string usage;   ///< additional keys of config.json
    std::shared_ptr<const data::TextTokenizer> tokenizer;  ///< null: the model is exported without one
};

/// Returns the companions of the run's model. Prints a note if its tokenizer cannot be exported.
///
/// \param kept  folder with files of the published model that the run began with; may not exist
Companions find_companions(const spec::Tokenizer& tokenizer, const std::string& kept);

/// Copies companions into the folder of an exported model, and returns a list of them for the summary.
///
/// If the run trained on conversations, generation_config.json gets the token that ends a turn, and the model
/// gets the template of the run. A note names such changes.
///
/// Errors: Error{resource}
std::string copy_companions(const Companions& companions,
                            const spec::RunSpec& run,
                            const std::string& folder);

}  // namespace ziggurat::app
