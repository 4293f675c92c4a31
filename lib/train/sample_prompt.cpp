#include "train/sample_prompt.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/control.hpp"
#include "comm/throw_on_all_ranks.hpp"
#include "data/chat/answer_ends.hpp"
#include "data/chat/chat_prompt.hpp"

namespace ziggurat::train {
namespace {

TextPrompt encode_chat(const spec::RunSpec& spec, const data::TextTokenizer& tokenizer) {
    const auto& path = spec.data.tokenizer.path;
    data::ChatPrompts chat{
        tokenizer, path, data::find_chat_template(path, data::chat_template_choice(spec.data)),
        data::template_engine(), data::trained_turn_ends(spec.data, tokenizer, spec.run.dir)};
    auto prompt = encode_prompt(tokenizer, spec::AddBos::no,
                                chat.render(data::make_question("", spec.validate.sample->prompt)));
    prompt.end_tokens = chat.end_tokens();
    return prompt;
}

/// Returns the prompt of rank 0 on all ranks.
TextPrompt shared(const comm::Context& world, const TextPrompt& prompt) {
    const nlohmann::json sent{prompt.tokens, prompt.end_tokens};
    const auto received = nlohmann::json::parse(comm::broadcast(world, sent.dump()));
    return {.tokens = received[0].get<std::vector<std::int32_t>>(),
            .end_tokens = received[1].get<std::vector<std::int32_t>>()};
}

}  // namespace

SamplePrompt open_sample_prompt(const spec::RunSpec& spec, const comm::Context& world) {
    SamplePrompt made;
    if (!spec.validate.sample) {
        return made;
    }
    const auto& sample = *spec.validate.sample;
    comm::throw_on_all_ranks(world, "cannot prepare validate.sample", [&] {
        made.tokenizer = data::open_tokenizer(spec.data.tokenizer);
        if (!sample.is_chat) {
            made.prompt = encode_prompt(*made.tokenizer, spec.data.add_bos, sample.prompt);
        } else if (world.rank() == 0) {
            try {
                made.prompt = encode_chat(spec, *made.tokenizer);
            } catch (const Error& problem) {
                throw Error{problem.kind(), std::string{"validate.sample.chat: "} + problem.what()};
            }
        }
    });
    if (sample.is_chat) {
        made.prompt = shared(world, made.prompt);
    }
    return made;
}

}  // namespace ziggurat::train
