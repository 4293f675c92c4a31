/// Kinds of files that users often name by mistake, recognised by their first bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ziggurat {

enum class FileKind {
    gzip,
    zstd,
    archive,    ///< other archive, or a container such as Parquet
    pointer,    ///< small text file in place of the content, which is not fetched yet: Git LFS, git-annex
    wide_text,  ///< UTF-16 or UTF-32
    web_page    ///< HTML, or an XML error of an object store
};

struct RecognisedFile {
    FileKind kind = FileKind::archive;
    const char* what = "";    ///< `a gzip archive`
    const char* remedy = "";  ///< sentence: how to get the intended file
};

/// Number of bytes at the beginning of a file that recognise_file() reads.
inline constexpr std::size_t recognised_bytes = 512;

/// Returns the kind of a file that begins with `first`; nullopt if it is not recognised.
///
/// Source: RFC 1952, RFC 8878, the .xz and .zip formats, POSIX ustar, Git LFS's specification of pointers
std::optional<RecognisedFile> recognise_file(std::string_view first);

/// Returns `a folder`, `a pipe`, `a socket` or `a device`.
///
/// Empty for a regular file, and if the path does not exist. Symbolic links are followed.
std::string irregular_file(const std::string& path);

}  // namespace ziggurat
