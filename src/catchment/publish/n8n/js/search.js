// What a search came to: "found" something, to be asked "again", to be done without ("skip"), or the "stop" of all.
const asked = { page: 1, tried: 0, ...$('Page to search').first().json };
const answer = $input.first().json.body;

if (answer.success) {
  const goesOn = answer.data.has_more && asked.page < asked.pages;
  const next = goesOn ? { ...asked, page: asked.page + 1, tried: 0 } : null;
  return [{ json: { outcome: 'found', source_id: asked.source_id, items: answer.data.items, next } }];
}

const error = answer.error ?? UNREADABLE;
const wait = waitBefore(error, asked.tried);
if (wait !== null) {
  return [{ json: { outcome: 'again', wait, next: { ...asked, tried: asked.tried + 1 } } }];
}
const missed = shortened(`${asked.keyword}: ${error.message}`);
return [{ json: { outcome: stopsAll(error) ? 'stop' : 'skip', missed, error } }];
