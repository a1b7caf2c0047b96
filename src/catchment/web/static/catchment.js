// Makes the pages quicker: whatever is done here can be done without, by links and forms.
import { startForms } from "./forms.js";
import { startKeys } from "./keys.js";
import { startLists } from "./lists.js";
import { startLive } from "./live.js";
import { startTimes } from "./times.js";

// A picture that cannot be had leaves its words, within the link to where it is.
function leaveWords(picture) {
  if (picture.matches?.(".prose img")) picture.replaceWith(`[${picture.alt}]`);
}

function startPictures() {
  addEventListener("error", (event) => leaveWords(event.target), true);
  for (const picture of document.querySelectorAll(".prose img")) {
    if (picture.complete && !picture.naturalWidth) leaveWords(picture);
  }
}

startTimes();
startPictures();
startForms();
startLists();
startKeys();
startLive();
