// Makes the pages quicker: whatever is done here can be done without, by links and forms.
import { startForms } from "./forms.js";
import { startKeys } from "./keys.js";
import { startLists } from "./lists.js";
import { startLive } from "./live.js";
import { startTimes } from "./times.js";

startTimes();
startForms();
startLists();
startKeys();
startLive();
