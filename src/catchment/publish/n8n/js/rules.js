// What follows from an error: one table for searches and details. Waits are in seconds.
const RULES = /* the table */ {};

// n8n keeps an execution in memory for no longer than this; what takes longer is left to the next execution.
const LONGEST_WAIT = 60;

const UNREADABLE = { code: 'NETWORK_ERROR', message: 'Catchment gave no answer that can be read.' };

const isRetryable = (error) => (RULES[error.code]?.waits ?? []).length > 0;

// It asks for more patience than there is, as an address that is blocked for a while does.
const isLongOff = (error) => (error.details?.retry_after ?? 0) > LONGEST_WAIT;

// A code that is not in the table is about the caller, such as a key that was refused: nothing else would fare better.
const stopsAll = (error) => (RULES[error.code]?.halts ?? true) || isLongOff(error);

// How long to wait before the next try, after so many tries again; null when it is enough.
const waitBefore = (error, tried) => {
  const wait = RULES[error.code]?.waits[tried];
  if (wait === undefined) return null;
  const longer = Math.max(wait, error.details?.retry_after ?? 0);
  return longer <= LONGEST_WAIT ? longer : null;
};

// As much as Catchment takes for a message, without cutting a character in two.
const shortened = (text) => Array.from(text).slice(0, 500).join('');
