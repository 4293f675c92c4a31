/// The commands of the program, one file each. Each returns the exit code of the process.
#pragma once

#include "app/cli.hpp"

namespace ziggurat::app {

/// Complains about a deck, or shows what it means and how much memory it takes. Never starts MPI.
int check(const Arguments& arguments);

/// Prints the step program of a rank. Never starts MPI.
int plan(const Arguments& arguments);

/// Trains. Collective: over all ranks that the launcher started; alone without one
int train(const Arguments& arguments);

/// Lists, checks and compares checkpoints. Never starts MPI.
int inspect(const Arguments& arguments);

/// Prints a text that a checkpoint's model goes on with. Collective: as train()
int sample(const Arguments& arguments);

/// Prints the loss of a checkpoint's model on a file. Collective: as train()
int eval(const Arguments& arguments);

/// Draws what runs have told. Never starts MPI.
int plot(const Arguments& arguments);

/// Measures disks and keeps what it finds for decks. Never starts MPI.
int bench_io(const Arguments& arguments);

}  // namespace ziggurat::app
