// A simulated house for `mock-server`: a radio and the devices that the tests talk to.
// HOUSE_PORT names a port at which tests can pull a plug, put it back, or make a sensor report.
const { createServer } = require("node:http");
const net = require("node:net");
const {
  BinarySwitchCCSet,
  MultilevelSensorCCReport,
  MultilevelSwitchCCGet,
  MultilevelSwitchCCReport,
  MultilevelSwitchCCSet,
  ThermostatSetpointCCSet,
  WakeUpCCIntervalGet,
  WakeUpCCIntervalReport,
  WakeUpCCIntervalSet,
  WakeUpCCNoMoreInformation,
  WakeUpCCWakeUpNotification,
} = require("@zwave-js/cc");
const { Bytes } = require("@zwave-js/shared");
const { createMockZWaveRequestFrame } = require("@zwave-js/testing");

// Small frames go out at once: waiting for more of them, as TCP likes to, would cost 40 ms each.
const listen = net.createServer;
net.createServer = (listener) => listen({ noDelay: true }, listener);

const CC = {
  BinarySwitch: 0x25,
  MultilevelSwitch: 0x26,
  BinarySensor: 0x30,
  MultilevelSensor: 0x31,
  ThermostatMode: 0x40,
  ThermostatSetpoint: 0x43,
  MultiChannel: 0x60,
  DoorLock: 0x62,
  Supervision: 0x6c,
  ManufacturerSpecific: 0x72,
  NodeNaming: 0x77,
  Battery: 0x80,
  WakeUp: 0x84,
  Version: 0x86,
};

const readings = new Map(); // by node: what its thermometer says

function cc(ccId, version, more = {}) {
  return { ccId, isSupported: true, version, ...more };
}

function device(id, location, name, commandClasses, { behaviors = [], ...capabilities } = {}) {
  return {
    id,
    behaviors: [unpluggable, ...behaviors],
    capabilities: {
      isListening: true,
      txDelay: 0,
      commandClasses: [
        cc(CC.ManufacturerSpecific, 1),
        cc(CC.Version, 2),
        cc(CC.NodeNaming, 1, { name, location }),
        ...commandClasses,
      ],
      ...capabilities,
    },
  };
}

const switchable = (more = {}) => cc(CC.BinarySwitch, 2, { defaultValue: false, ...more });
const dimmable = (more = {}) => cc(CC.MultilevelSwitch, 4, { defaultValue: 0, primarySwitchType: 2, ...more });

// A device without power: it hears nothing.
const unpluggable = {
  handleCC: (_controller, self) => (self.autoAckControllerFrames ? undefined : { action: "stop" }),
};

// 255 means "on, at the level you had last"; the simulation takes it for a level.
const restoresLevel = {
  handleCC(controller, self, received) {
    if (received instanceof MultilevelSwitchCCSet) {
      const level = received.targetValue === 255 ? (self.state.get("last") ?? 99) : received.targetValue;
      if (level > 0) self.state.set("last", level);
      self.state.set("level", level);
      return { action: "ok" };
    }
    if (received instanceof MultilevelSwitchCCGet) {
      const level = self.state.get("level") ?? 0;
      const report = { nodeId: controller.ownNodeId, currentValue: level, targetValue: level };
      return { action: "sendCC", cc: new MultilevelSwitchCCReport(report) };
    }
  },
};

// The simulation's own thermostat refuses everything above its minimum.
const acceptsTemperature = {
  handleCC(_controller, self, received) {
    if (received instanceof ThermostatSetpointCCSet) {
      self.state.set(`ThermostatSetpoint_setpoint_${received.setpointType}`, received.value);
      self.state.set(`ThermostatSetpoint_scale_${received.setpointType}`, received.scale);
      return { action: "ok" };
    }
  },
};

// Says that all is well, and does nothing.
const stubborn = {
  handleCC: (_controller, _self, received) => (received instanceof BinarySwitchCCSet ? { action: "ok" } : undefined),
};

const failing = {
  handleCC: (_controller, _self, received) => (received instanceof BinarySwitchCCSet ? { action: "fail" } : undefined),
};

// Sleeps as soon as it is told that there is nothing more to hear.
const sleepy = {
  handleCC(controller, self, received) {
    if (received instanceof WakeUpCCIntervalGet) {
      const interval = { nodeId: controller.ownNodeId, wakeUpInterval: 3600, controllerNodeId: controller.ownNodeId };
      const cc = new WakeUpCCIntervalReport(interval);
      cc.payload = Bytes.from([0, 3600 >> 8, 3600 & 0xff, controller.ownNodeId]); // which it does not write by itself
      return { action: "sendCC", cc };
    }
    if (received instanceof WakeUpCCIntervalSet) return { action: "ok" };
    if (received instanceof WakeUpCCNoMoreInformation) {
      self.autoAckControllerFrames = false;
      return { action: "ok" };
    }
  },
};

function thermometer(id, celsius, more = {}) {
  readings.set(id, celsius);
  return cc(CC.MultilevelSensor, 11, {
    sensors: { 1: { supportedScales: [0] }, ...more },
    getValue: (type) => (type === 1 ? readings.get(id) : 45),
  });
}

// TCP may join an ACK and a frame into one chunk; the simulated radio wants exactly one serial frame a chunk.
function splitFrames() {
  let buffer = Buffer.alloc(0);
  return {
    async onHostData(controller, data) {
      buffer = Buffer.concat([buffer, Buffer.from(data)]);
      while (buffer.length) {
        const head = buffer[0];
        if (head === 0x06 || head === 0x15 || head === 0x18) {
          buffer = buffer.subarray(1);
          void controller.serialOnData(head);
        } else if (head !== 0x01) {
          buffer = buffer.subarray(1);
        } else if (buffer.length < 2 || buffer.length < buffer[1] + 2) {
          break;
        } else {
          const frame = buffer.subarray(0, buffer[1] + 2);
          buffer = buffer.subarray(buffer[1] + 2);
          void controller.serialOnData(Uint8Array.from(frame));
        }
      }
      return true;
    },
  };
}

// What a person does in the house: POST /unplug/15, /plug/15, /wake/10, /warm/4/25.5
function openDoorbell(controller, nodes) {
  const server = createServer(async (request, response) => {
    const [, action, id, value] = request.url.split("/");
    const node = nodes.find((candidate) => candidate.id === Number(id));
    const send = (made) => node.sendToController(createMockZWaveRequestFrame(made, { ackRequested: false }));
    if (action === "unplug") node.autoAckControllerFrames = false;
    if (action === "plug") node.autoAckControllerFrames = true;
    if (action === "wake") {
      node.autoAckControllerFrames = true;
      await send(new WakeUpCCWakeUpNotification({ nodeId: controller.ownNodeId }));
    }
    if (action === "warm") {
      readings.set(node.id, Number(value));
      await send(new MultilevelSensorCCReport({ nodeId: controller.ownNodeId, type: 1, scale: 0, value: Number(value) }));
    }
    response.end("done");
  });
  server.listen(Number(process.env.HOUSE_PORT), "127.0.0.1");
}

module.exports.default = () => ({
  controller: { homeId: 0x7e570001, ownNodeId: 1, behaviors: [splitFrames()] },
  onInit: process.env.HOUSE_PORT ? openDoorbell : undefined,
  nodes: [
    device(2, "Kitchen", "Kitchen Light", [switchable()]),
    device(3, "Bedroom", "Bedroom Lamp", [dimmable()], { behaviors: [restoresLevel] }),
    device(4, "Office", "Office Sensor", [
      thermometer(4, 21.5, { 5: { supportedScales: [0] } }),
      cc(CC.BinarySensor, 2, { supportedSensorTypes: [12], getValue: () => true }),
    ]),
    device(5, "Hall", "Front Door", [
      cc(CC.DoorLock, 4, {
        supportedOperationTypes: [1],
        supportedDoorLockModes: [0, 255],
        doorSupported: true,
        boltSupported: true,
        latchSupported: true,
        travelTime: 400,
      }),
    ]),
    device(
      6,
      "Hall",
      "Hall Thermostat",
      [
        cc(CC.ThermostatMode, 3, { supportedModes: [0, 1, 2] }),
        cc(CC.ThermostatSetpoint, 3, {
          setpoints: {
            1: { minValue: 5, maxValue: 30, defaultValue: 20, scale: "°C" },
            2: { minValue: 18, maxValue: 35, defaultValue: 26, scale: "°C" },
          },
        }),
      ],
      { behaviors: [acceptsTemperature] },
    ),
    device(7, "Living Room", "Lamp", [switchable()]),
    device(8, "Guest Room", "Lamp", [switchable()]),
    device(9, "Office", "Power Strip", [cc(CC.MultiChannel, 4)], {
      endpoints: [{ commandClasses: [switchable()] }, { commandClasses: [dimmable()] }, { commandClasses: [switchable()] }],
    }),
    device(10, "Garden", "Garden Sensor", [thermometer(10, 7.5), cc(CC.WakeUp, 1)], {
      isListening: false,
      behaviors: [sleepy],
    }),
    device(11, "Cellar", "Stubborn Plug", [switchable()], { behaviors: [stubborn] }),
    device(12, "Küche", "Süd 厨房", [switchable()]),
    device(13, "Attic", "Attic Fan", [switchable(), cc(CC.Supervision, 1)], { behaviors: [failing] }),
    device(14, "Bedroom", "Blind", [dimmable({ travelTime: 1500 }), cc(CC.Supervision, 1)]),
    device(15, "Garage", "Old Plug", [switchable()]),
  ],
});
