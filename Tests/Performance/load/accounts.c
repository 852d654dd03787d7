/* Accounts of the load. For a server with its own accounts, a file has one line for each
   account: the change token from which its devices continue, and their tokens. The first device
   publishes. */

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

static void read_line(struct account *account, char *line) {
  char *rest = NULL, *word = strtok_r(line, " \n", &rest);
  account->cursor = word ? strdup(word) : NULL;
  while (word && (word = strtok_r(NULL, " \n", &rest))) {
    uint32_t count = account->token_count + 1;
    account->tokens = realloc(account->tokens, count * sizeof *account->tokens);
    if (!account->tokens || !(account->tokens[count - 1] = strdup(word))) give_up("no memory");
    account->token_count = count;
  }
}

void accounts_make(void) {
  struct options *options = &load.options;
  load.accounts = calloc(options->accounts, sizeof *load.accounts);
  if (!load.accounts) give_up("no memory");
  if (!options->dialect->has_accounts) return;
  const char *path = options->account_file;
  if (!path) give_up("--accounts-file is missing: this server knows its devices by tokens");
  FILE *file = fopen(path, "r");
  if (!file) give_up("%s: %s", path, strerror(errno));
  char *line = NULL;
  size_t room = 0;
  uint32_t read = 0, least = options->mode == MODE_STORM || options->mode == MODE_SAVES ? 1 : 2;
  while (read < options->accounts && getline(&line, &room, file) > 0) {
    struct account *account = &load.accounts[read++];
    read_line(account, line);
    if (account->token_count < least) {
      give_up("%s:%u: an account needs %u devices", path, read, least);
    }
  }
  free(line);
  fclose(file);
  if (read < options->accounts) {
    give_up("%s has %u accounts, not %u", path, read, options->accounts);
  }
}

const char *account_token(const struct connection *connection) {
  struct account *account = &load.accounts[connection->account];
  if (!account->token_count) return NULL;
  if (connection->role == PUBLISHER) return account->tokens[0];
  /* If an account has fewer devices than connections, each device has several. In a storm there
     is no publisher, and the first device is a receiver like the others. */
  if (load.options.mode == MODE_STORM) {
    return account->tokens[connection->device % account->token_count];
  }
  return account->tokens[1 + connection->device % (account->token_count - 1)];
}
